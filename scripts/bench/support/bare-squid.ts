import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const manifest = `manifest_version: subsquid.io/v0.1
name: bare
deploy:
  addons:
    postgres:
  init: false
  processor:
    cmd: [node, processor.js]
  api:
    cmd: [node, api.js]
scale:
  dedicated: true
  api:
    profile: 2xlarge
`

const api = `
const body = 'x'.repeat(200)
const headers = { 'content-type': 'text/plain', 'content-length': body.length }
require('node:http').createServer((request, response) => response.writeHead(200, headers).end(body)).listen(process.env.GQL_PORT)
`

const main = { name: 'bare', version: '1.0.0', private: true, scripts: { build: 'node --version' } }

/**
 * Creates a squid without dependencies, and returns its folder. Its API returns 200 bytes for every request, so that a benchmark
 * measures only the proxy in front of it. `processor`: the source of its processor, which does nothing by default.
 */
export function makeBareSquid(processor = 'setInterval(() => undefined, 60_000)\n'): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'bare-')), 'bare')
  mkdirSync(folder)
  const { scripts, ...entry } = main
  const lock = { name: main.name, version: main.version, lockfileVersion: 3, packages: { '': entry } }
  const files = {
    'squid.yaml': manifest,
    'api.js': api,
    'processor.js': processor,
    'package.json': JSON.stringify({ ...entry, scripts }),
    'package-lock.json': JSON.stringify(lock),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}
