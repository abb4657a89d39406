package longwire.jdbc;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Collections;
import java.util.Properties;

/** A driver found, and a connection by it. */
final class Opening {
    final Connection connection;
    private final Driver driver;
    private final long nanos;

    private Opening(Connection connection, Driver driver, long nanos) {
        this.connection = connection;
        this.driver = driver;
        this.nanos = nanos;
    }

    static Opening of(Body body) throws SQLException, ReflectiveOperationException {
        String className = body.text();
        String url = body.text();
        Properties properties = new Properties();
        for (int left = body.number(); left > 0; left--) {
            String name = body.text();
            properties.setProperty(name, body.text());
        }
        Driver driver = className == null ? taking(url) : named(className);
        long began = System.nanoTime();
        Connection connection = driver.connect(url, properties);
        long nanos = System.nanoTime() - began;
        if (connection == null) {
            throw new Fault.NoDriver(driver.getClass().getName());
        }
        return new Opening(connection, driver, nanos);
    }

    Reply reply(int channel) {
        Reply reply = new Reply(channel, Reply.OPENED);
        reply.large(nanos);
        reply.text(driver.getClass().getName());
        DatabaseMetaData data = null;
        try {
            data = connection.getMetaData();
        } catch (SQLException untold) {
            // It can be used without.
        }
        DatabaseMetaData of = data;
        reply.text(told(of, DatabaseMetaData::getDriverName));
        reply.text(told(of, DatabaseMetaData::getDriverVersion));
        reply.text(told(of, DatabaseMetaData::getDatabaseProductName));
        reply.text(told(of, DatabaseMetaData::getDatabaseProductVersion));
        return reply;
    }

    private interface Fact {
        String of(DatabaseMetaData data) throws SQLException;
    }

    private static String told(DatabaseMetaData data, Fact fact) {
        try {
            return data == null ? null : fact.of(data);
        } catch (SQLException | RuntimeException untold) {
            return null;
        }
    }

    /** The driver that takes the URL, of those that say themselves that they are there. */
    private static Driver taking(String url) throws SQLException {
        StringBuilder there = new StringBuilder();
        for (Driver driver : Collections.list(DriverManager.getDrivers())) {
            if (driver.acceptsURL(url)) {
                return driver;
            }
            there.append(there.length() == 0 ? "" : ", ").append(driver.getClass().getName());
        }
        throw new Fault.NoDriver(there.toString());
    }

    private static Driver named(String className) throws ReflectiveOperationException {
        Class<?> found = Class.forName(className);
        if (!Driver.class.isAssignableFrom(found)) {
            throw new Fault.NotADriver(className);
        }
        return (Driver) found.getDeclaredConstructor().newInstance();
    }
}
