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

## The operator's command line

\`npm run -s shoal -- --help\` lists the commands; each takes \`--json\`. They find the database by \`SHOAL_DATA_DIR\` or \`DATABASE_URL\`, beside a running server or without one.

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
