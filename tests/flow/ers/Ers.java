import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import org.bouncycastle.asn1.DERNull;
import org.bouncycastle.cms.jcajce.JcaSimpleSignerInfoVerifierBuilder;
import org.bouncycastle.jce.provider.BouncyCastleProvider;
import org.bouncycastle.asn1.x509.AlgorithmIdentifier;
import org.bouncycastle.asn1.nist.NISTObjectIdentifiers;
import org.bouncycastle.operator.DigestCalculatorProvider;
import org.bouncycastle.operator.jcajce.JcaDigestCalculatorProviderBuilder;
import org.bouncycastle.tsp.TimeStampRequestGenerator;
import org.bouncycastle.tsp.TimeStampResponse;
import org.bouncycastle.tsp.ers.ERSArchiveTimeStampGenerator;
import org.bouncycastle.tsp.ers.ERSByteData;
import org.bouncycastle.tsp.ers.ERSData;
import org.bouncycastle.tsp.ers.ERSDataGroup;
import org.bouncycastle.tsp.ers.ERSEvidenceRecord;
import org.bouncycastle.tsp.ers.ERSEvidenceRecordGenerator;

/** Evidence records by Bouncy Castle: `check FOLDER`, `ask FOLDER`, `make FOLDER` on files N.ers, N.doc, N.blinding. */
public class Ers {
    static final DigestCalculatorProvider DIGESTS;

    static {
        java.security.Security.addProvider(new BouncyCastleProvider());
        try {
            DIGESTS = new JcaDigestCalculatorProviderBuilder().build();
        } catch (Exception error) {
            throw new RuntimeException(error);
        }
    }

    public static void main(String[] words) throws Exception {
        Path folder = Path.of(words[1]);
        switch (words[0]) {
            case "check" -> check(folder);
            case "ask" -> Files.write(folder.resolve("request.tsq"), generator(folder)
                .generateTimeStampRequest(new TimeStampRequestGenerator()).getEncoded());
            case "make" -> make(folder);
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    static void check(Path folder) throws Exception {
        for (int number = 0; Files.exists(folder.resolve(number + ".ers")); number++) {
            String said;
            try {
                byte[] data = Files.readAllBytes(folder.resolve(number + ".ers"));
                ERSEvidenceRecord record = new ERSEvidenceRecord(data, DIGESTS);
                record.validatePresent(group(folder, number), new Date());
                record.validatePresent(document(folder, number), new Date());
                record.validate(new JcaSimpleSignerInfoVerifierBuilder().build(record.getSigningCertificate()));
                said = "ok " + new java.math.BigInteger(1, record.getPrimaryRootHash()).toString(16);
            } catch (Exception error) {
                said = "refused " + error.getMessage();
            }
            System.out.println(said.replace('\n', ' '));
        }
    }

    static void make(Path folder) throws Exception {
        TimeStampResponse reply = new TimeStampResponse(
            new ByteArrayInputStream(Files.readAllBytes(folder.resolve("reply.tsr"))));
        List<ERSEvidenceRecord> records = new ERSEvidenceRecordGenerator(DIGESTS)
            .generate(generator(folder).generateArchiveTimeStamps(reply));
        for (int number = 0; number < records.size(); number++) {
            Files.write(folder.resolve(number + ".made"), records.get(number).getEncoded());
        }
    }

    static ERSArchiveTimeStampGenerator generator(Path folder) throws Exception {
        List<ERSData> groups = new ArrayList<>();
        for (int number = 0; Files.exists(folder.resolve(number + ".doc")); number++) {
            groups.add(group(folder, number));
        }
        AlgorithmIdentifier sha256 = new AlgorithmIdentifier(NISTObjectIdentifiers.id_sha256, DERNull.INSTANCE);
        ERSArchiveTimeStampGenerator found = new ERSArchiveTimeStampGenerator(DIGESTS.get(sha256));
        found.addAllData(groups);
        return found;
    }

    static ERSData document(Path folder, int number) throws Exception {
        return new ERSByteData(Files.readAllBytes(folder.resolve(number + ".doc")));
    }

    static ERSData group(Path folder, int number) throws Exception {
        return new ERSDataGroup(document(folder, number),
            new ERSByteData(Files.readAllBytes(folder.resolve(number + ".blinding"))));
    }
}
