import type { CheckName } from '../health/readiness.ts'

/** The section of docs/operate.md about several Postgres servers. */
export const squidServersDoc = `## Several Postgres servers for squids

\`SHOAL_SQUIDS_DATABASE_URL\` accepts several servers, separated by commas or spaces. Every server but the first needs a name:

\`\`\`sh
SHOAL_SQUIDS_DATABASE_URL="postgres://shoal:…@10.0.0.5/postgres?shoal_max_databases=200, postgres://shoal:…@10.0.0.6/postgres?shoal_name=second&shoal_weight=2"
\`\`\`

| parameter | meaning |
|---|---|
| \`shoal_name\` | up to 30 lower-case letters, digits and hyphens; default: \`main\`. Shoal's database refers to the server by this name, so you may change the address of a server, but never its name |
| \`shoal_max_databases\` | the maximum number of databases; default: limited only by its connections |
| \`shoal_weight\` | above 0, up to 1000; default: 1 |
| \`shoal_for=dedicated\` | only dedicated versions get databases on this server. If there is such a server, dedicated versions get databases on no other. On Kubernetes, \`shoal postgres\` creates such servers with CloudNativePG (\`docs/kubernetes.md\`) |

A new version's database is created on the server with the highest product of capacity and weight. The capacity is the number of further versions of this size for which the server has connections, but at most the remaining part of \`shoal_max_databases\`. A database stays on its server until you move it. A server without capacity gets no further databases; when none has capacity, deployments of new versions fail with an explanation.

All processes need the same setting. Squids may reach each of the servers, and \`shoal doctor\` checks each. To stop using a server, set \`shoal_max_databases=0\`, move its databases with \`squid-database move --from <name>\` (below), and then remove it: Shoal does not start while databases are on a Postgres server that the setting does not list, and reports their number.

While a server does not respond, deployments of versions on it wait, and their log names the server. Other versions are not affected, and the databases of new versions are created on the other servers. Only when another host takes over the squids must all servers respond. Back up each server with its own tools at about the same time as Shoal's database; databases that a restored server lacks are created empty when a worker starts.

### Move databases between servers

\`\`\`sh
npm run -s shoal -- squid-database move --squid <organization>/<name@slot> --to second --estimate
npm run -s shoal -- squid-database move --squid <organization>/<name@slot> --to second
npm run -s shoal -- squid-database move --from main --to second
\`\`\`

The first command measures how long the processors of the version would not run, and changes nothing: it copies up to 32 MB of the version's rows into a scratch database on the target, makes its indexes, and compares it with the source, as a move does (below). It extrapolates the duration to all rows, and adds the duration of the last start of the programs. The second command prints the same and moves the database; the third does so
for all versions on a server, one after another. The log of the deployment, which the command prints, contains the estimate and the actual duration.

A worker runs the move as a restart of the version, or as a hibernation if the version is hibernated, so the move continues even if the command is killed; the same command then follows it again. The worker checks everything first. It refuses a database with objects that a copy would not have (large objects, partitioned or foreign tables, row-level security, aggregates and other rare kinds), and
names them. It also refuses a full database, and a target that is older, lacks an extension of the database, or has no capacity. Then it stops the processors, locks the tables against writes, and copies objects and rows in one snapshot of the source, while the API reads from the source. It compares all objects, privileges, sequences, row counts and a checksum of each table.
New programs then start with the copy. One transaction switches the version to the copy; only afterwards does the worker drop the source. When anything fails before that, the processors start on the source again and the copy is dropped. When the worker is killed, the next one starts the copy again. As after a restart, the version has the same code and the current secrets.

The address for external users changes with the server: they find the new one in the console. The copy is logical and needs no \`pg_dump\`. The target may have a newer major version of Postgres. If that version writes definitions differently, the comparison fails and the database stays where it is.
`

/** The section of docs/operate.md about private certificate authorities. */
export const authoritiesDoc = `## Private certificate authorities

\`SHOAL_CA_FILE\` names a file with the certificates, in PEM, of authorities that the server and its commands trust in addition to the public ones: for Postgres (add \`sslmode=verify-full\` to its URL), the registry, S3, RPC nodes, the mail server, webhooks. npm and builds receive it as \`NODE_EXTRA_CA_CERTS\`, unless that is set. Tested with Postgres, with a registry and with other servers over HTTPS.

- The API server of a cluster is verified with the authority in its kubeconfig, and kubelets with \`SHOAL_KUBE_KUBELET_CA_FILE\`. Collectors of logs have their own configuration.
- Nodes pull images with the configuration of their container runtime, so the container runtime must trust the registry's authority, too.
- Programs of squids do not receive the file. With \`sslmode=verify-full\` in \`SHOAL_SQUIDS_DATABASE_URL\`, their \`DB_URL\` has that mode, so the image of a squid must contain the authority; \`sslmode=require\` is passed on, too.
`

/** The checks of `shoal doctor`, the problems that each reports, and the remedies, as a table of `docs/operate.md`. */
export const doctorTable = `| check | reports a problem if | remedy |
|---|---|---|
| \`server\` | no server runs, it is not ready, or its version differs from that of the command | start or restart the server; correct what the check names |
| \`ports\` | a port is used by another program, the server is not permitted to open it, or a server runs but does not accept connections on it | stop that program, or choose another port |
| \`disk\` | less than twice the reserve is free (\`SHOAL_DISK_RESERVE_PERCENT\`); fails below the reserve | delete versions, old backups, or \`builds/cache\` while the server is stopped |
| \`limits\` | the server's limit of open files is below 65,536, or its limit of processes below 4,096; fails below 4,096 files or 512 processes | \`LimitNOFILE\` and \`LimitNPROC\` in the unit, or \`ulimit\` before the start |
| \`sandbox\` | bubblewrap is missing or does not work, or the kernel has no system call filters | install bubblewrap 0.7 or newer, allow user namespaces, unset \`SHOAL_SANDBOX\` |
| \`cgroups\` | memory and CPU of squids are not limited | run as root, or in a delegated cgroup |
| \`network of squids\` | squids share the network of the host | install iproute2 and nftables (without root: passt and nftables), unset \`SHOAL_NETWORK\` |
| \`disk of squids\` | the disk space of squids is not limited | install e2fsprogs and run as root where loop devices can be used, or use btrfs with quotas |
| \`users of squids\` | all squids run as one user | run as root, with setpriv (util-linux) |
| \`clock\` | it differs by more than 5 s from the clocks of external Postgres servers and of web servers that Shoal uses, such as RPC nodes; fails above a minute | \`apt-get install systemd-timesyncd\`, \`timedatectl set-ntp true\` |
| \`Postgres of Shoal\`, \`Postgres of squids\`, \`Postgres of logs\` | it does not respond, is older than version 14, 80 % (fails: 95 %) of its connections are open, or it may not create databases | read \`postgres.log\`, upgrade it, raise the connections, grant \`createdb createrole\` |
| \`keys\` | other users can read a file with keys, or \`secrets.key\` is missing | \`chmod 600\`; restore the key from your copy |
| \`mail\` | there is no mail server, or it refuses the sign-in | \`SHOAL_MAIL_URL\` and \`SHOAL_MAIL_FROM\`, its password, the firewall |
| \`RPC nodes\` | a node of a chain does not respond; fails if no node of a configured chain responds | correct their URLs in \`SHOAL_RPC_CONFIG\`, or the connection to the internet |
| \`backup\` | the last one is older than 26 hours; fails after a week | \`shoal backup\` on a timer |
| \`certificates\` | a public address is not encrypted, is rejected by clients, or expires within two weeks | the proxy in front, DNS, the firewall |
| \`registry\` | it rejects the credentials or does not respond | \`SHOAL_REGISTRY\`, \`SHOAL_REGISTRY_AUTH_FILE\`, its certificate |
| \`Kubernetes\` | the API server does not respond, or rights are missing | \`SHOAL_KUBECONFIG\`; grant the rights that are named |
| \`S3\` | the bucket rejects the credentials or does not respond | the setting that is named, or the policy of the bucket |`

type Check = { roles: string; problem: string }

const checks: Record<CheckName, Check> = {
  database: { roles: 'any role', problem: 'a new connection cannot be opened and used' },
  worker: {
    roles: '`worker`',
    problem:
      'the active worker has not observed its containers for 30 seconds; on a standby: the active worker is frozen',
  },
  gateway: { roles: '`gateway`', problem: 'the routes could not be read for two minutes' },
  squids: {
    roles: '`worker`, `gateway`',
    problem:
      'on Kubernetes: the API server has not responded since the process started, so the ports of squids are unknown. The check is missing while there is no problem',
  },
  disk: { roles: 'any role', problem: "the data directory's disk does not respond, or less than 1 % of it is free" },
  server: { roles: 'any role', problem: 'the server is stopping. The check is missing while there is no problem' },
}

/** The checks of `/readyz`, as a table. */
export const readinessTable = [
  '| check | in processes with | is not `ok` when |',
  '|---|---|---|',
  ...Object.entries(checks).map(([name, { roles, problem }]) => `| \`${name}\` | ${roles} | ${problem} |`),
].join('\n')
