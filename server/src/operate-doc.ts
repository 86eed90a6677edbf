import { z } from 'zod'
import { settings } from './config.ts'

/** `docs/operate.md`, made from the settings; a test of the repository compares the two. */
export function operateDoc(): string {
  const rows = Object.entries(settings).map(
    ([name, schema]) => `| \`${name}\` | ${defaultOf(schema)} | ${schema.description ?? ''} |`,
  )
  return `# Operating Shoal

This page is generated from \`server/src/config.ts\` by \`npm run check -- --write\`; do not edit it by hand.

## Two ways to run it

- \`npm start\` is for one machine and for trying it: it installs, builds the console, starts an embedded Postgres, and stops everything on Ctrl-C.
- \`npm run serve\` is production: no install, no build, everything from the environment, squids outlive the server and are adopted when it returns.

Both listen on loopback. Put a proxy with TLS in front and set \`SHOAL_PUBLIC_URL\`, \`SHOAL_GATEWAY_URL\` and \`SHOAL_TRUST_PROXY\`. The gateway serves
HTML of squids, so give it an origin of its own, never a path of the console's.

## Health

\`GET /healthz\` says that a process answers, \`GET /readyz\` that what it needs answers too, and names what does not. Both exist on both ports.

## Watching it

With \`SHOAL_METRICS_TOKEN\` set, \`GET /metrics\` on the API's port tells Prometheus how the server does; it names no organization. What squids do is told to the members of
each organization, by an API token of theirs:

\`\`\`yaml
scrape_configs:
  - job_name: shoal
    authorization: { credentials: <SHOAL_METRICS_TOKEN> }
    static_configs: [{ targets: ['shoal.example.com'] }]
  - job_name: squids
    metrics_path: /api/v1/orgs/<organization>/monitoring/squids
    scrape_interval: 15s
    authorization: { credentials: <API token> }
    static_configs: [{ targets: ['shoal.example.com'] }]
\`\`\`

\`docs/grafana/server.json\` and \`docs/grafana/organization.json\` are dashboards for the two; in Grafana, choose Dashboards, New, Import.

## The operator's command line

\`npm run -s shoal -- --help\` lists the commands; each takes \`--json\`. They find the database by \`SHOAL_DATA_DIR\` or \`DATABASE_URL\`, beside a running server or without one.

## The key that seals secrets

Secrets, tokens and passwords are sealed in the database with AES-256-GCM. The key is not in the database: it is in \`secrets.key\` of the data directory, or in \`SHOAL_SECRETS_KEY\`. Without it a backup of the
database opens nothing, so keep a copy elsewhere.

- \`npm run -s shoal -- secrets rotate-key\` puts a new key first in the file and seals everything with it. A running server takes the new key at once; the old one still opens what it sealed.
- \`npm run -s shoal -- secrets drop-old-keys\` takes the old keys out of the file, once nothing in the database needs them. Backups made before the rotation do: keep the key with them.
- With \`SHOAL_SECRETS_KEY\` put the new key first (\`<new>,<old>\`), restart every server, run \`secrets rotate-key\` with the same setting, and then take the old key out.

## What the host should offer

Shoal runs squids as processes. As root it gives each version a uid of its own and, where they are writable, cgroup limits; with bubblewrap (\`apt-get install bubblewrap\`)
each container gets a file system, process table and \`/tmp\` of its own. What the host cannot offer is said once at start, in plain words.

## Settings

All from the environment.

| variable | default | what it does |
|---|---|---|
${rows.join('\n')}
`
}

function defaultOf(schema: z.ZodType): string {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return json.default === undefined ? '' : `\`${String(json.default)}\``
}
