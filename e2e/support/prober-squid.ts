import { bareManifest, makeBareSquid, postgresAddon } from './bare-squid.ts'

/** `host:port` that a program tries to connect to. */
export type Target = string

/** The text that the program received from each target; null if it could not connect. */
export type ProbeResults = Record<Target, string | null>

/** The source of a function that sends an HTTP request to each target, and returns `ProbeResults`. */
const probeSource = `
const net = require('node:net')
const probe = (target) => new Promise((done) => {
  const [, host, port] = target.match(/^\\[?(.*?)\\]?:(\\d+)$/)
  let text = ''
  const socket = net.connect({ host, port: Number(port) }, () => { text = ' '; socket.write('GET /probe HTTP/1.0\\r\\n\\r\\n') })
  const end = () => { socket.destroy(); done(text === '' ? null : text.slice(0, 300).trim()) }
  socket.setTimeout(2000, end)
  socket.on('data', (piece) => (text += piece)).on('end', end).on('error', end)
})
const probeAll = async (targets) => Object.fromEntries(await Promise.all(targets.map(async (target) => [target, await probe(target)])))
`

/** Returns the source of a program whose child process, without Shoal's environment variables, listens on ports of the server. */
const imitatorSource = (listeners: Target[]) => `
const child = ${JSON.stringify(`
for (const [host, port] of ${JSON.stringify(listeners.map(split))}) {
  const open = () => require('node:http').createServer((request, response) => response.end('hostile squid'))
    .on('error', () => setTimeout(open, 200)).listen(port, host, () => console.log('listening at ' + host))
  open()
}`)}
require('node:child_process').spawn(process.execPath, ['-e', child], { env: { PATH: process.env.PATH }, stdio: 'inherit' })
setInterval(() => undefined, 60_000)
`

const split = (target: Target): [string, number] => {
  const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(target) ?? []
  return [host, Number(port)]
}

const api = `${probeSource}
const http = require('node:http')
http.createServer(async (request, response) => {
  const { searchParams } = new URL(request.url, 'http://squid')
  response.end(JSON.stringify({
    found: await probeAll(searchParams.getAll('target')),
    database: process.env.DB_HOST + ':' + process.env.DB_PORT,
    address: Object.values(require('node:os').networkInterfaces()).flat().find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '',
  }))
}).listen(process.env.GQL_PORT)
`

/** Prefix of the log line with the results of the build's attempts: JSON of `ProbeResults` in base64. */
export const buildResultPrefix = 'the build found '

/**
 * Creates a squid that tries to connect to other services: its api to each `target` of a request's query, its build to
 * `buildTargets`. Its processor listens on `listeners`.
 */
export function makeProberSquid(
  name: string,
  { listeners, buildTargets }: { listeners: Target[]; buildTargets: Target[] },
): string {
  return makeBareSquid(name, {
    'squid.yaml': bareManifest(name, postgresAddon),
    'api.js': api,
    'processor.js': imitatorSource(listeners),
    'build.js': `${probeSource}probeAll(${JSON.stringify(buildTargets)}).then((found) => console.log(${JSON.stringify(buildResultPrefix)} + Buffer.from(JSON.stringify(found)).toString('base64')))`,
    'package.json': JSON.stringify({ name, version: '1.0.0', private: true, scripts: { build: 'node build.js' } }),
  })
}
