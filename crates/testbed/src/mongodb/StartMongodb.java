import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.io.FileInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;

/** StartMongodb PORT [CERTIFICATE KEY]: on 127.0.0.1, in memory, with TLS if there are files. */
class StartMongodb {
    public static void main(String[] arguments) throws Exception {
        MongoServer server = new MongoServer(new MemoryBackend());
        if (arguments.length > 1) {
            try (FileInputStream file = new FileInputStream(arguments[1])) {
                X509Certificate certificate =
                        (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(file);
                server.enableSsl(key(Path.of(arguments[2])), null, certificate);
            }
        }
        server.bind("127.0.0.1", Integer.parseInt(arguments[0]));
        System.out.println("ready");
    }

    private static PrivateKey key(Path file) throws Exception {
        String digits = Files.readString(file).replaceAll("-----.*-----|\\s", "");
        byte[] bytes = Base64.getDecoder().decode(digits);
        return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(bytes));
    }
}
