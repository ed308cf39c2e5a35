//! Where the messages of each group stand, by forces: linked ones attract each other and all repel; then the
//! groups, as circles, do the same.

use super::graph::Graph;
use super::lines::Line;
use super::markup::text_width;
use fjadra::{
    Collide, Link, ManyBody, Node as Particle, PositionX, PositionY, Simulation, SimulationBuilder,
};

/// The size of a group's name.
pub(super) const NAME_SIZE: f64 = 15.0;

/// The distance of linked messages.
const LINK_LENGTH: f64 = 34.0;

/// The space around the messages of a group, and between groups.
pub(super) const PADDING: f64 = 16.0;
const GAP: f64 = 14.0;

/// How much nearer than circles around them groups may come, since few reach all around their circle.
const CROWDING: f64 = 0.92;

/// The steps of a simulation: after these, nothing moves visibly.
const STEPS: usize = 300;

/// The places of all that is drawn, in pixels from the upper left corner.
pub(super) struct Layout {
    /// The centre of each message.
    pub(super) places: Vec<[f64; 2]>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A group, with its messages around its centre.
struct Blob {
    nodes: Vec<usize>,
    places: Vec<[f64; 2]>,
    radius: f64,
    /// Half the width of its name.
    name: f64,
}

/// The radius of a message, larger with more lines.
pub(super) fn radius(degree: usize) -> f64 {
    4.5 + 1.3 * (degree as f64).sqrt()
}

/// Places the messages of a graph.
pub(super) fn by_groups(graph: &Graph) -> Layout {
    let blobs: Vec<Blob> = (0..graph.groups.len()).map(|group| blob(graph, group)).collect();
    let centres = pack(graph, &blobs);
    let mut places = vec![[0.0; 2]; graph.nodes.len()];
    let mut bounds = Bounds { least: [f64::INFINITY; 2], greatest: [f64::NEG_INFINITY; 2] };
    for (blob, [x, y]) in blobs.iter().zip(centres) {
        for (node, [dx, dy]) in blob.nodes.iter().zip(&blob.places) {
            places[*node] = [x + dx, y + dy];
            let space = radius(graph.nodes[*node].degree) + PADDING;
            bounds.add([x + dx - space, y + dy - space - 2.0 * NAME_SIZE]);
            bounds.add([x + dx + space, y + dy + space]);
        }
        // The name may be wider than the messages.
        bounds.add([x - blob.name, y]);
        bounds.add([x + blob.name, y]);
    }
    let [width, height] = bounds.shift(&mut places);
    Layout { places, width, height }
}

/// The box around all that is drawn.
struct Bounds {
    least: [f64; 2],
    greatest: [f64; 2],
}

impl Bounds {
    fn add(&mut self, place: [f64; 2]) {
        for (axis, at) in place.into_iter().enumerate() {
            self.least[axis] = self.least[axis].min(at);
            self.greatest[axis] = self.greatest[axis].max(at);
        }
    }

    /// Shifts the places so that the box begins at the origin; returns its width and height.
    fn shift(&self, places: &mut [[f64; 2]]) -> [f64; 2] {
        for place in places.iter_mut() {
            *place = [place[0] - self.least[0], place[1] - self.least[1]];
        }
        [0, 1].map(|axis| (self.greatest[axis] - self.least[axis]).max(0.0))
    }
}

/// The messages of a group around its centre.
fn blob(graph: &Graph, group: usize) -> Blob {
    let nodes: Vec<usize> = (0..graph.nodes.len()).filter(|node| graph.nodes[*node].group == group).collect();
    let at = |node: usize| nodes.binary_search(&node).ok();
    let links: Vec<(usize, usize)> =
        graph.lines.iter().filter_map(|Line { from, to, .. }| Some((at(*from)?, at(*to)?))).collect();
    let radii: Vec<f64> = nodes.iter().map(|node| radius(graph.nodes[*node].degree)).collect();
    let spaced: Vec<f64> = radii.iter().map(|radius| radius + 4.0).collect();
    let simulation = SimulationBuilder::default()
        .build(nodes.iter().map(|_| Particle::default()))
        .add_force("charge", ManyBody::default().strength(-55.0))
        .add_force("link", Link::new(links).distance(LINK_LENGTH))
        .add_force("collide", Collide::default().radius(move |at| spaced[at]).iterations(2))
        .add_force("x", PositionX::default().strength(0.08))
        .add_force("y", PositionY::default().strength(0.11));
    let mut places = run(simulation);
    let centre = centre_of(&places);
    for place in &mut places {
        *place = [place[0] - centre[0], place[1] - centre[1]];
    }
    let reach = places.iter().zip(&radii).map(|([x, y], radius)| x.hypot(*y) + radius);
    let name = text_width(&graph.groups[group].name(graph), NAME_SIZE) / 2.0;
    // The name stands above the messages.
    let radius = (reach.fold(0.0, f64::max) * CROWDING + PADDING).max(name) + NAME_SIZE / 2.0;
    Blob { nodes, places, radius, name }
}

/// The centres of the groups, wider than high.
fn pack(graph: &Graph, blobs: &[Blob]) -> Vec<[f64; 2]> {
    let mut links: Vec<(usize, usize)> = { graph.lines.iter() }
        .map(|line| (graph.nodes[line.from].group, graph.nodes[line.to].group))
        .filter(|(one, other)| one != other)
        .map(|(one, other)| (one.min(other), one.max(other)))
        .collect();
    links.sort_unstable();
    links.dedup();
    let radii: Vec<f64> = blobs.iter().map(|blob| blob.radius).collect();
    let (spaced, lengths) = (radii.clone(), radii);
    let distance = {
        let links = links.clone();
        move |_: &(_, _), at: usize| {
            let (one, other) = links[at];
            lengths[one] + lengths[other] + GAP
        }
    };
    let simulation = SimulationBuilder::default()
        // On a spiral nearly as wide as the groups: from the default one they would push each other away too
        // hard.
        .build(spiral(&spaced))
        .add_force("link", Link::new(links).distance(distance).strength(0.15))
        .add_force("collide", Collide::default().radius(move |at| spaced[at] + GAP / 2.0).iterations(6))
        .add_force("x", PositionX::default().strength(0.1))
        .add_force("y", PositionY::default().strength(0.2));
    run(simulation)
}

/// Where the groups begin: the largest in the middle, the others around it.
fn spiral(radii: &[f64]) -> Vec<Particle> {
    let mean = radii.iter().sum::<f64>() / radii.len().max(1) as f64;
    let golden_angle = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let place = |at: usize| {
        let (away, angle) = (mean * (at as f64).sqrt(), at as f64 * golden_angle);
        Particle::default().position(1.5 * away * angle.cos(), 0.8 * away * angle.sin())
    };
    (0..radii.len()).map(place).collect()
}

fn run(mut simulation: Simulation) -> Vec<[f64; 2]> {
    simulation.tick(STEPS);
    simulation.positions().collect()
}

/// The centre of the box around some places.
fn centre_of(places: &[[f64; 2]]) -> [f64; 2] {
    [0, 1].map(|axis| {
        let along = || places.iter().map(move |place| place[axis]);
        (along().fold(f64::INFINITY, f64::min) + along().fold(f64::NEG_INFINITY, f64::max)) / 2.0
    })
}

/// The corners of the convex hull of some places, in order (Andrew's monotone chain).
pub(super) fn hull(mut places: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    places.sort_by(|one, other| one[0].total_cmp(&other[0]).then(one[1].total_cmp(&other[1])));
    let half = |places: &mut dyn Iterator<Item = &[f64; 2]>| {
        let mut corners: Vec<[f64; 2]> = Vec::new();
        for place in places {
            while let [.., a, b] = corners[..] {
                let turn = (b[0] - a[0]) * (place[1] - a[1]) - (b[1] - a[1]) * (place[0] - a[0]);
                if turn > 0.0 {
                    break;
                }
                corners.pop();
            }
            corners.push(*place);
        }
        corners.pop();
        corners
    };
    if places.len() < 3 {
        return places;
    }
    let mut corners = half(&mut places.iter());
    corners.extend(half(&mut places.iter().rev()));
    corners
}
