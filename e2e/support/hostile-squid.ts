import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What the processor of a hostile squid does, forever. */
export const attacks = {
  'eats memory': `
const kept = []
setInterval(() => kept.push(Buffer.alloc(20 << 20, 1)), 10)`,
  'forks without end': `
const { spawn } = require('node:child_process')
setInterval(() => {
  for (let i = 0; i < 50; i++) spawn('sleep', ['1000'], { stdio: 'ignore' }).on('error', () => undefined)
}, 10)`,
  'floods its log': `
const lines = ('x'.repeat(200) + '\\n').repeat(500)
const write = () => process.stdout.write(lines, write)
write()`,
}

export type Attack = keyof typeof attacks

const manifest = (name: string) => `manifest_version: subsquid.io/v0.1
name: ${name}
deploy:
  init: false
  processor:
    cmd: [node, processor.js]
  api:
    cmd: [node, api.js]
`

const api = `
const answer = JSON.stringify({ data: { __typename: 'Query' } })
require('node:http').createServer((request, response) => response.end(answer)).listen(process.env.GQL_PORT)
`

/** A squid without dependencies whose processor begins its attack ten seconds after its start, when it counts as deployed. */
export function makeHostileSquid(name: string, attack: Attack): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'hostile-')), name)
  mkdirSync(folder)
  const entry = { name, version: '1.0.0', private: true }
  const files = {
    'squid.yaml': manifest(name),
    'api.js': api,
    'processor.js': `setTimeout(() => {${attacks[attack]}\n}, 10_000)\nsetInterval(() => undefined, 60_000)\n`,
    'package.json': JSON.stringify({ ...entry, scripts: { build: 'node --version' } }),
    'package-lock.json': JSON.stringify({ ...entry, lockfileVersion: 3, packages: { '': entry } }),
  }
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
  return folder
}
