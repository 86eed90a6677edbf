import { bareManifest, makeBareSquid, postgresAddon } from './bare-squid.ts'

/** `host:port`, optionally with a path to request, that a program tries to connect to. */
export type Target = string

/** The text that the program received from each target; null if it could not connect. */
export type ProbeResults = Record<Target, string | null>

/** The source of a function that sends an HTTP request to each target, and returns `ProbeResults`. */
const probeSource = `
const net = require('node:net')
const probe = (target) => new Promise((done) => {
  const [, host, port, path = '/probe'] = target.match(/^\\[?(.*?)\\]?:(\\d+)(\\/.*)?$/)
  let text = ''
  const socket = net.connect({ host, port: Number(port) }, () => { text = ' '; socket.write('GET ' + path + ' HTTP/1.0\\r\\n\\r\\n') })
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

/** Scripts of the package, which run while the squid is deployed. */
const deployScripts = ['build', 'postinstall'] as const
export type DeployScript = (typeof deployScripts)[number]

/** Prefix of the log line with the results of a script's attempts: JSON of `ProbeResults` in base64. */
const resultPrefix = (script: DeployScript) => `the ${script} found `

/** Returns what a script has found, from the log of the deployment. @throws if it has not logged its results */
export function resultsOf(script: DeployScript, logs: unknown): ProbeResults {
  const encoded = new RegExp(`${resultPrefix(script)}([\\w+/=]+)`).exec(JSON.stringify(logs))?.[1]
  if (encoded === undefined) throw new Error(`The log has no results of the script ${script}: ${JSON.stringify(logs)}`)
  return JSON.parse(Buffer.from(encoded, 'base64').toString()) as ProbeResults
}

/**
 * Creates a squid that tries to connect to other services: its api to each `target` of a request's query, the scripts of its package
 * to `scriptTargets`. Its processor listens on `listeners`.
 */
export function makeProberSquid(
  name: string,
  { listeners, scriptTargets }: { listeners: Target[]; scriptTargets: Target[] },
): string {
  const scripts = Object.fromEntries(
    deployScripts.map((script) => [script, `node probe-targets.js "${resultPrefix(script)}"`]),
  )
  const entry = { name, version: '1.0.0', private: true }
  return makeBareSquid(name, {
    'squid.yaml': bareManifest(name, postgresAddon),
    'api.js': api,
    'processor.js': imitatorSource(listeners),
    'probe-targets.js': `${probeSource}probeAll(${JSON.stringify(scriptTargets)}).then((found) => console.log(process.argv[2] + Buffer.from(JSON.stringify(found)).toString('base64')))`,
    'package.json': JSON.stringify({ ...entry, scripts }),
    'package-lock.json': JSON.stringify({
      ...entry,
      lockfileVersion: 3,
      packages: { '': { ...entry, hasInstallScript: true } },
    }),
  })
}
