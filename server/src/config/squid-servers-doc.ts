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
