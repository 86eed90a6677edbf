import { bareManifest, makeBareSquid, postgresAddon } from './bare-squid.ts'

/** The beginning of the mark in the files of each spy squid. A spy that finds the mark of another spy has read a file of another tenant. */
export const fileMark = 'mark of the spy called '

const secretVariable = '  env:\n    SECRET: ${{ secrets.SECRET }}\n'

/** Returns the source of the spy's api, which searches folders, processes, sockets and ports, and returns the marks, secrets and names that it finds. */
const api = (name: string) => `// ${fileMark}${name}
const fs = require('node:fs')
const net = require('node:net')
const http = require('node:http')

const tryOr = (attempt, otherwise) => { try { return attempt() } catch { return otherwise } }
const childrenOf = (dir) => tryOr(() => fs.readdirSync(dir, { withFileTypes: true }), []).map((entry) => [entry, dir.replace(/\\/$/, '') + '/' + entry.name])

function walk(dir, found, depth = 0) {
  if (depth > 14 || found.seen > 200000) return found
  for (const [entry, path] of childrenOf(dir)) {
    found.seen++
    if (entry.isDirectory()) { if (entry.name !== 'node_modules') walk(path, found, depth + 1) }
    else if (entry.isSocket()) found.sockets.push(path)
    else if (entry.isFile() && /\\.(js|json|log|launch)$|pids$/.test(entry.name)) {
      const text = tryOr(() => fs.readFileSync(path, 'utf8').slice(0, 100000), '')
      for (const mark of text.match(/${fileMark}\\w+/g) ?? []) found.marks.push(mark)
    }
  }
  return found
}

const secretVariables = () => childrenOf('/proc').filter(([entry]) => /^\\d+$/.test(entry.name))
  .map(([, path]) => tryOr(() => fs.readFileSync(path + '/environ', 'utf8'), ''))
  .flatMap((text) => text.split('\\0').filter((line) => line.startsWith('SECRET=')))

const commandLines = () => childrenOf('/proc').filter(([entry]) => /^\\d+$/.test(entry.name))
  .map(([, path]) => tryOr(() => fs.readFileSync(path + '/cmdline', 'utf8'), '').replaceAll('\\0', ' ').trim())

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
  const opened = url.searchParams.getAll('open').filter((path) => tryOr(() => fs.readdirSync(path), tryOr(() => fs.readFileSync(path), null)))
  const sockets = await Promise.all([...new Set(found.sockets)].map((path) => nameAt({ socketPath: path })))
  const ports = await Promise.all([3000, 4350, Number(process.env.GQL_PORT)].map((port) => nameAt({ host: '127.0.0.1', port })))
  const report = { seen: found.seen, secrets: secretVariables(), commands: commandLines(), opened, marks: found.marks, names: [...sockets, ...ports] }
  response.end(JSON.stringify(report))
}).listen(process.env.GQL_PORT)
`

/** Creates a squid whose `/spy?dir=…&open=…` returns what its program can read: below each `dir`, and whether it can open each path `open`. */
export const makeSpySquid = (name: string): string =>
  makeBareSquid(name, {
    'squid.yaml': bareManifest(name, secretVariable + postgresAddon),
    'api.js': api(name),
    'processor.js': `// ${fileMark}${name}\nconsole.log('${fileMark}${name}')\nsetInterval(() => undefined, 60_000)\n`,
  })
