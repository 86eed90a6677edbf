/** The section of docs/operate.md about several Postgres servers. */
export const squidServersDoc = `## Several Postgres servers for squids

\`SHOAL_SQUIDS_DATABASE_URL\` accepts several servers, separated by commas or spaces. Every server but the first needs a name:

\`\`\`
SHOAL_SQUIDS_DATABASE_URL="postgres://shoal:…@10.0.0.5/postgres?shoal_room=200, postgres://shoal:…@10.0.0.6/postgres?shoal_name=second&shoal_weight=2"
\`\`\`

| parameter | meaning |
|---|---|
| \`shoal_name\` | up to 30 lower-case letters, digits and hyphens; default: \`main\`. Rows contain the name, so a server may get another address, but never another name |
| \`shoal_room\` | the maximum number of databases; default: limited only by its connections |
| \`shoal_weight\` | above 0, up to 1000; default: 1 |

A new version's database is created on the server with the most room times its weight. Room is the number of such versions for which the server has connections, but at most the remaining part of \`shoal_room\`. A database stays on its server. A server without room gets no further databases; when none has room, deployments of new versions fail with an explanation.

All processes need the same setting. Squids may reach each of the servers, and \`shoal doctor\` checks each. To stop using a server, set \`shoal_room=0\`, delete the versions on it or deploy them under other slots, and then remove it: a server does not start while databases are on one that the setting does not list, and reports their number.

While a server does not respond, deployments of versions on it wait, and their log names the server; other versions are not affected, and new ones are created on the other servers. Only moving the squids to another host needs all servers. Back up each server with its own tools at about the same time as Shoal's database; databases that a restored server lacks are created empty when a worker starts.
`
