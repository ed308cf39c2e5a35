import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.neo4j.configuration.GraphDatabaseInternalSettings;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** Servers of Neo4j on this machine alone, until standard input ends. Arguments: directory, ports (0: any free one). */
public class Server {
    private static final boolean KEEPS_PLANS = System.getenv("NEO4J_KEEP_PLANS") != null;

    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[0]);
        String[] ports = arguments[1].split(",");
        for (int at = 0; at < ports.length; at++) {
            Path own = ports.length == 1 ? directory : directory.resolve("server-" + at);
            System.out.println("bolt://127.0.0.1:" + start(own, Integer.parseInt(ports[at])));
        }
        while (System.in.read() >= 0) {
            // What is written to it means nothing.
        }
        System.exit(0);
    }

    private static int start(Path directory, int port) throws Exception {
        if (port == 0) {
            try (ServerSocket free = new ServerSocket(0)) {
                port = free.getLocalPort();
            }
        }
        String password = System.getenv("NEO4J_PASSWORD");
        try {
            DatabaseManagementService server = new DatabaseManagementServiceBuilder(directory)
                .setConfig(BoltConnector.enabled, true)
                .setConfig(BoltConnector.listen_address, new SocketAddress("127.0.0.1", port))
                .setConfig(GraphDatabaseSettings.auth_enabled, password != null)
                .setConfig(GraphDatabaseSettings.pagecache_memory, 256L << 20)
                .setConfig(GraphDatabaseInternalSettings.cypher_size_hint_parameters, !KEEPS_PLANS)
                .setConfig(GraphDatabaseSettings.cypher_min_replan_interval,
                    KEEPS_PLANS ? Duration.ofDays(1) : Duration.ofSeconds(10))
                .build();
            Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
            if (password != null) {
                server.database("system").executeTransactionally(
                    "ALTER USER neo4j SET PASSWORD $password CHANGE NOT REQUIRED", Map.of("password", password));
            }
        } catch (Exception cause) {
            System.err.println("neo4j: " + cause);
            System.exit(1);
        }
        return port;
    }
}
