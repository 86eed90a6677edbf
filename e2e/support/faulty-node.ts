import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** `stopped`: refuses connections. `unresponsive`: accepts requests and never responds. `slow`: responds after five seconds. `wrong`: reports a head 1,000 blocks too high. */
export type Fault = 'none' | 'stopped' | 'unresponsive' | 'slow' | 'wrong'

export type FaultyNode = { url: string; setFault: (fault: Fault) => Promise<void>; close: () => Promise<void> }

const slowMs = 5_000
const headErrorBlocks = 1_000

/** Starts a node that forwards requests to the node at `targetUrl`, and simulates the fault that a test sets. */
export async function startFaultyNode(targetUrl: string): Promise<FaultyNode> {
  let fault: Fault = 'none'
  let server: Server = await listen(0)
  const { port } = server.address() as AddressInfo

  async function listen(port: number): Promise<Server> {
    const server = createServer(async (req, res) => {
      const chunks: Buffer[] = []
      for await (const chunk of req) chunks.push(chunk as Buffer)
      const body = Buffer.concat(chunks)
      if (fault === 'unresponsive') return
      if (fault === 'slow') await pause(slowMs)
      const response = await forward(targetUrl, body).catch(() => null)
      if (response === null) res.writeHead(502).end()
      else
        res
          .writeHead(200, { 'content-type': 'application/json' })
          .end(fault === 'wrong' ? raiseHead(body, response) : response)
    })
    await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
    return server
  }
  const stop = () =>
    new Promise<void>((done) => {
      server.close(() => done())
      server.closeAllConnections()
    })
  return {
    url: `http://127.0.0.1:${port}`,
    setFault: async (next) => {
      if (next === 'stopped' && fault !== 'stopped') await stop()
      if (next !== 'stopped' && fault === 'stopped') server = await listen(port)
      fault = next
    },
    close: async () => {
      if (fault !== 'stopped') await stop()
    },
  }
}

function forward(url: string, body: Buffer): Promise<string> {
  return new Promise((done, fail) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    const outgoing = request(url, { method: 'POST', headers }, (response) => {
      let text = ''
      response
        .setEncoding('utf8')
        .on('data', (chunk: string) => (text += chunk))
        .on('end', () => done(text))
    })
    outgoing.on('error', fail).end(body)
  })
}

type Call = { id: unknown; method?: string }
type Result = { id: unknown; result?: unknown }

/** Raises the result of `eth_blockNumber` in a response. For the invented blocks, the node still responds that they do not exist. */
function raiseHead(body: Buffer, response: string): string {
  const calls = [JSON.parse(body.toString()) as Call | Call[]].flat()
  const isHead = ({ id }: Result) => calls.find((call) => call.id === id)?.method === 'eth_blockNumber'
  const results = JSON.parse(response) as Result | Result[]
  const withFalseHead = (result: Result) =>
    isHead(result) ? { ...result, result: `0x${(Number(result.result) + headErrorBlocks).toString(16)}` } : result
  return JSON.stringify(Array.isArray(results) ? results.map(withFalseHead) : withFalseHead(results))
}
