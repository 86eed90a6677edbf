import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Written into the files of every spy squid: a spy that finds the mark of another has read a foreign file. */
export const fileMark = 'mark of the spy called '

const manifest = (name: string) => `manifest_version: subsquid.io/v0.1
name: ${name}
deploy:
  env:
    SECRET: \${{ secrets.SECRET }}
  addons:
    postgres:
  init: false
  processor:
    cmd: [node, processor.js]
  api:
    cmd: [node, api.js]
`

/** The spy's api: searches all folders that its user may read, and returns the data of others that it finds. */
const api = (name: string) => `// ${fileMark}${name}
const fs = require('node:fs')
const net = require('node:net')
const http = require('node:http')

const tried = (attempt, otherwise) => { try { return attempt() } catch { return otherwise } }
const childrenOf = (dir) => tried(() => fs.readdirSync(dir, { withFileTypes: true }), []).map((entry) => [entry, dir.replace(/\\/$/, '') + '/' + entry.name])

function walk(dir, found, depth = 0) {
  if (depth > 14 || found.seen > 200000) return found
  for (const [entry, path] of childrenOf(dir)) {
    found.seen++
    if (entry.isDirectory()) { if (entry.name !== 'node_modules') walk(path, found, depth + 1) }
    else if (entry.isSocket()) found.sockets.push(path)
    else if (entry.isFile() && /\\.(js|json|log|launch)$|pids$/.test(entry.name)) {
      const text = tried(() => fs.readFileSync(path, 'utf8').slice(0, 100000), '')
      for (const mark of text.match(/${fileMark}\\w+/g) ?? []) found.marks.push(mark)
    }
  }
  return found
}

const environments = () => childrenOf('/proc').filter(([entry]) => /^\\d+$/.test(entry.name))
  .map(([, path]) => tried(() => fs.readFileSync(path + '/environ', 'utf8'), ''))
  .flatMap((text) => text.split('\\0').filter((line) => line.startsWith('SECRET=')))

const commands = () => childrenOf('/proc').filter(([entry]) => /^\\d+$/.test(entry.name))
  .map(([, path]) => tried(() => fs.readFileSync(path + '/cmdline', 'utf8'), '').replaceAll('\\0', ' ').trim())

const nameAt = (where) => new Promise((done) => {
  const request = http.get({ ...where, path: '/name', timeout: 2000 }, (response) => {
    let text = ''
    response.on('data', (chunk) => (text += chunk)).on('end', () => done(text))
  })
  request.on('error', () => done(null)).on('timeout', () => request.destroy())
})

http.createServer(async (request, response) => {
  const url = new URL(request.url, 'http://spy')
  if (url.pathname.endsWith('/name')) return response.end('I am ${name}')
  if (!url.pathname.endsWith('/spy')) return response.writeHead(404).end()
  const found = { seen: 0, sockets: [], marks: [] }
  for (const dir of [process.cwd(), ...url.searchParams.getAll('dir')]) walk(dir, found)
  const opened = url.searchParams.getAll('open').filter((path) => tried(() => fs.readdirSync(path), tried(() => fs.readFileSync(path), null)))
  const sockets = await Promise.all([...new Set(found.sockets)].map((path) => nameAt({ socketPath: path })))
  const ports = await Promise.all([3000, 4350, Number(process.env.GQL_PORT)].map((port) => nameAt({ host: '127.0.0.1', port })))
  const report = { seen: found.seen, secrets: environments(), commands: commands(), opened, marks: found.marks, names: [...sockets, ...ports] }
  response.end(JSON.stringify(report))
}).listen(process.env.GQL_PORT)
`

/** A squid without dependencies that returns at `/spy?dir=…&open=…` what it can read of others: below `dir`, and at the path `open`. */
export function makeSpySquid(name: string): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'shoal-spy-')), name)
  mkdirSync(folder)
  const entry = { name, version: '1.0.0', private: true }
  const files = {
    'squid.yaml': manifest(name),
    'api.js': api(name),
    'processor.js': `// ${fileMark}${name}\nconsole.log('${fileMark}${name}')\nsetInterval(() => undefined, 60_000)\n`,
    'package.json': JSON.stringify({ ...entry, scripts: { build: 'node --version' } }),
    'package-lock.json': JSON.stringify({ ...entry, lockfileVersion: 3, packages: { '': entry } }),
  }
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
  return folder
}
