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
import org.bouncycastle.operator.DigestCalculator;
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

/** Evidence records by Bouncy Castle: `MODE FOLDER` on files N.ers, N.doc, N.blinding, N.more; renewals are of 0.ers. */
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
            case "ask-again" -> Files.write(folder.resolve("request.tsq"), record(folder)
                .generateTimeStampRenewalRequest(new TimeStampRequestGenerator()).getEncoded());
            case "stamp-again" -> Files.write(folder.resolve("0.ers"),
                record(folder).renewTimeStamp(reply(folder)).getEncoded());
            case "ask-sha512" -> Files.write(folder.resolve("request.tsq"), record(folder)
                .generateHashRenewalRequest(sha512(), document(folder, 0), new TimeStampRequestGenerator())
                .getEncoded());
            case "hash-again" -> Files.write(folder.resolve("0.ers"),
                record(folder).renewHash(sha512(), document(folder, 0), reply(folder)).getEncoded());
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

    static ERSEvidenceRecord record(Path folder) throws Exception {
        return new ERSEvidenceRecord(Files.readAllBytes(folder.resolve("0.ers")), DIGESTS);
    }

    static TimeStampResponse reply(Path folder) throws Exception {
        return new TimeStampResponse(
            new ByteArrayInputStream(Files.readAllBytes(folder.resolve("reply.tsr"))));
    }

    static DigestCalculator sha512() throws Exception {
        return DIGESTS.get(new AlgorithmIdentifier(NISTObjectIdentifiers.id_sha512, DERNull.INSTANCE));
    }

    static void make(Path folder) throws Exception {
        TimeStampResponse reply = reply(folder);
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
        List<ERSData> files = new ArrayList<>(List.of(document(folder, number)));
        for (String ending : List.of(".blinding", ".more")) {
            Path path = folder.resolve(number + ending);
            if (Files.exists(path)) {
                files.add(new ERSByteData(Files.readAllBytes(path)));
            }
        }
        return new ERSDataGroup(files);
    }
}
