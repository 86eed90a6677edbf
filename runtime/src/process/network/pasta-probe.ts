import { once } from 'node:events'
import { type AddressInfo, type Server, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { runProgram } from './run-script.ts'

/** A program that prints for each address, given as host and port, whether it can connect to the address. */
const CONNECT = `
const net = require('node:net')
const connect = ([host, port]) => new Promise((done) => {
  const end = (text) => { socket.destroy(); done(text) }
  const socket = net.connect({ host, port: Number(port) }).setTimeout(2000, () => end('closed'))
  socket.on('connect', () => end('open')).on('error', () => end('closed'))
})
Promise.all(process.argv.slice(1).map((address) => connect(address.split(' ')))).then((found) => console.log(found.join(' ')))
`

/** Runs `check` with the port of a listener on loopback. */
export async function withProbeService(check: (port: number) => Promise<void>): Promise<void> {
  const { server, port } = await listen('127.0.0.1')
  try {
    await check(port)
  } finally {
    server.close()
  }
}

/**
 * Checks from inside a network that its rules and pasta work here: that it can reach `service`, a port of this host's loopback, and no other
 * listener of the host; and that programs in a sandbox can join it.
 * @throws Error if one of these checks fails
 */
export async function checkPolicy(prefix: string[], service: number, sandbox: string[]): Promise<void> {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  const hostAddress = addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address
  const hosts = ['127.0.0.1', ...(hostAddress === undefined ? [] : [hostAddress])]
  const listeners = await Promise.all(hosts.map(listen))
  try {
    const refused = listeners.map(({ port }, index) => `${hosts[index]} ${port}`)
    const targets = [`127.0.0.1 ${service}`, ...refused]
    const found = await runProgram([...prefix, process.execPath, '-e', CONNECT, ...targets])
    const [reached, ...others] = found.trim().split(' ')
    if (reached !== 'open') throw new Error('pasta does not forward connections to loopback')
    if (others.includes('open')) throw new Error('the rules inside a network do not restrict it')
    await runProgram([...prefix, ...sandbox, 'true'])
  } finally {
    for (const { server } of listeners) server.close()
  }
}

async function listen(host: string): Promise<{ server: Server; port: number }> {
  const server = createServer((socket) => socket.on('error', () => undefined).destroy())
  server.listen(0, host)
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}
