import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.Map;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** Neo4j on this machine alone, until standard input ends. Arguments: directory, port (0: any that is free). */
public class Server {
    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[1]);
        if (port == 0) {
            try (ServerSocket free = new ServerSocket(0)) {
                port = free.getLocalPort();
            }
        }
        String password = System.getenv("NEO4J_PASSWORD");
        DatabaseManagementService server;
        try {
            server = new DatabaseManagementServiceBuilder(Path.of(arguments[0]))
                .setConfig(BoltConnector.enabled, true)
                .setConfig(BoltConnector.listen_address, new SocketAddress("127.0.0.1", port))
                .setConfig(GraphDatabaseSettings.auth_enabled, password != null)
                .setConfig(GraphDatabaseSettings.pagecache_memory, 256L << 20)
                .build();
            if (password != null) {
                server.database("system").executeTransactionally(
                    "ALTER USER neo4j SET PASSWORD $password CHANGE NOT REQUIRED", Map.of("password", password));
            }
        } catch (Exception cause) {
            System.err.println("neo4j: " + cause);
            System.exit(1);
            return;
        }
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        System.out.println("bolt://127.0.0.1:" + port);
        while (System.in.read() >= 0) {
            // What is written to it means nothing.
        }
        System.exit(0);
    }
}
