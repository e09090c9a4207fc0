import com.xfvape.uid.impl.CachedUidGenerator;
import com.xfvape.uid.impl.DefaultUidGenerator;
import com.xfvape.uid.worker.DisposableWorkerIdAssigner;
import com.xfvape.uid.worker.dao.WorkerNodeDAO;
import java.io.InputStream;
import java.lang.reflect.Proxy;
import java.util.HashSet;
import java.util.Set;
import org.apache.ibatis.builder.xml.XMLMapperBuilder;
import org.apache.ibatis.datasource.unpooled.UnpooledDataSource;
import org.apache.ibatis.io.Resources;
import org.apache.ibatis.mapping.Environment;
import org.apache.ibatis.session.Configuration;
import org.apache.ibatis.session.SqlSession;
import org.apache.ibatis.session.SqlSessionFactory;
import org.apache.ibatis.session.SqlSessionFactoryBuilder;
import org.apache.ibatis.transaction.jdbc.JdbcTransactionFactory;

/**
 * Nodes of uid-generator one after the other, each with a worker that its mapper of MyBatis draws from WORKER_NODE by
 * Connector/J: PORT USER PASSWORD. Prints every id, over servers that go and come back.
 */
public class UidGeneratorClient {
    private static final int NODES = 60;
    private static final int IDS = 100;
    private static final String MAPPER = "META-INF/mybatis/mapper/WORKER_NODE.xml";

    public static void main(String[] arguments) throws Exception {
        WorkerNodeDAO nodes = nodes(arguments);
        Set<Long> workers = new HashSet<>();
        for (int at = 0; at < NODES; at++) {
            DisposableWorkerIdAssigner assigner = new DisposableWorkerIdAssigner();
            assigner.setWorkerNodeDAO(nodes);
            // The first second of a cached generator fills its ring.
            boolean cached = at % 20 == 0;
            DefaultUidGenerator generator = cached ? new CachedUidGenerator() : new DefaultUidGenerator();
            generator.setEpochStr("2026-01-01");
            long[] drawn = new long[1];
            generator.setWorkerIdAssigner(() -> drawn[0] = assigner.assignWorkerId());
            generator.afterPropertiesSet();
            check(workers.add(drawn[0]), "two nodes have worker " + drawn[0]);
            for (int id = 0; id < IDS; id++) {
                long uid = generator.getUID();
                check((uid >> 13 & (1 << 22) - 1) == drawn[0], uid + " is not of worker " + drawn[0]);
                System.out.println(uid);
            }
            if (cached) {
                ((CachedUidGenerator) generator).destroy();
            }
        }
        check(nodes.getWorkerNodeByHostPort("nobody", "1") == null, "a node that never was");
    }

    /** The mapper, which draws again where the server was gone. */
    private static WorkerNodeDAO nodes(String[] arguments) throws Exception {
        UnpooledDataSource source = new UnpooledDataSource("com.mysql.jdbc.Driver",
            "jdbc:mysql://127.0.0.1:" + arguments[0] + "/ids?useSSL=false&connectTimeout=2000&socketTimeout=10000",
            arguments[1], arguments[2]);
        Configuration configuration = new Configuration(new Environment("e", new JdbcTransactionFactory(), source));
        InputStream mapper = Resources.getResourceAsStream(MAPPER);
        new XMLMapperBuilder(mapper, configuration, MAPPER, configuration.getSqlFragments()).parse();
        SqlSessionFactory sessions = new SqlSessionFactoryBuilder().build(configuration);
        return (WorkerNodeDAO) Proxy.newProxyInstance(WorkerNodeDAO.class.getClassLoader(),
            new Class<?>[] {WorkerNodeDAO.class}, (self, method, values) -> {
                for (int tries = 0; ; tries++) {
                    try (SqlSession session = sessions.openSession()) {
                        Object answer = method.invoke(session.getMapper(WorkerNodeDAO.class), values);
                        session.commit();
                        return answer;
                    } catch (Exception failure) {
                        if (tries == 600) {
                            throw failure;
                        }
                        Thread.sleep(50);
                    }
                }
            });
    }

    private static void check(boolean holds, Object why) {
        if (!holds) {
            throw new AssertionError(why);
        }
    }
}
