import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const example = join(import.meta.dirname, '../../examples/erc20-transfers/package-lock.json')

const manifest = `manifest_version: subsquid.io/v0.1
name: counting
deploy:
  addons:
    postgres:
  init: false
  processor:
    cmd: [node, processor.js]
  api:
    cmd: [node, api.js]
`

/** Each row of `starts` is a run of the processor; `was_alone`: no other run held the writer's lock. */
const processor = `
const { Client } = require('pg')
const http = require('node:http')

let block = 0
const metrics = () => 'sqd_processor_last_block ' + block + '\\nsqd_processor_chain_height ' + (block + 1) + '\\n'
http.createServer((request, response) => response.end(metrics())).listen(process.env.PROCESSOR_PROMETHEUS_PORT)

async function main() {
  const client = new Client({ connectionString: process.env.DB_URL })
  await client.connect()
  const { rows: [lock] } = await client.query('select pg_try_advisory_lock(7) as taken')
  await client.query('create table if not exists starts (id int generated always as identity, was_alone boolean)')
  const { rows: [start] } = await client.query('insert into starts (was_alone) values ($1) returning id', [lock.taken])
  for (;; block++) {
    console.log('run ' + start.id + ' line ' + block)
    if (block % 20 === 0) await client.query('select 1')
    await new Promise((resume) => setTimeout(resume, 10))
  }
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
`

const api = `
const body = JSON.stringify({ data: { __typename: 'Query' } })
const http = require('node:http')
http.createServer((request, response) => {
  request.resume().on('end', () => setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(body), 5))
}).listen(process.env.GQL_PORT)
`

/**
 * A squid whose processor takes a lock in its database, records whether it was free, and numbers the lines of its log:
 * this shows whether two processors ran at the same time, and whether a line was lost.
 */
export function makeCountingSquid(): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'counting-')), 'counting')
  mkdirSync(folder)
  const entry = { name: 'counting', version: '1.0.0', private: true, dependencies: { pg: versionOf('pg') } }
  const files = {
    'squid.yaml': manifest,
    'api.js': api,
    'processor.js': processor,
    'package.json': JSON.stringify({ ...entry, scripts: { build: 'node --version' } }),
    'package-lock.json': JSON.stringify({
      name: entry.name,
      version: entry.version,
      lockfileVersion: 3,
      packages: { '': entry, ...lockedWith('pg') },
    }),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

type Locked = { version: string; dependencies?: Record<string, string>; optionalDependencies?: Record<string, string> }

const lockOfExample = (): Record<string, Locked> =>
  (JSON.parse(readFileSync(example, 'utf8')) as { packages: Record<string, Locked> }).packages

const versionOf = (name: string): string => lockOfExample()[`node_modules/${name}`]?.version ?? '*'

/** Returns the entries of the example's lockfile for a package and its dependencies. */
function lockedWith(name: string, locked: Record<string, Locked> = {}): Record<string, Locked> {
  const path = `node_modules/${name}`
  const entry = lockOfExample()[path]
  if (!entry || locked[path]) return locked
  locked[path] = entry
  for (const needed of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })) lockedWith(needed, locked)
  return locked
}
