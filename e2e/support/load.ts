import { Agent, request } from 'node:http'

export type Load = {
  /** Returns the number of successful requests: those with a complete response and status 200. */
  successes: () => number
  /** Returns the number of successful requests that the server `host:port` has served. */
  successesOf: (server: string) => number
  /** Returns the failed requests: their status or error, and the servers that nginx tried. */
  failures: () => { reason: string; servers: string }[]
  /** Returns the longest time from a request to the end of its response, in milliseconds. */
  slowestMs: () => number
  stop: () => Promise<void>
}

/**
 * Sends POST requests to `url` without pause over `connections` keep-alive connections until it is stopped. Neither this client nor
 * nginx sends a request again.
 */
export function startLoad(url: string, connections: number, body = '{"query":"{ __typename }"}'): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  let isStopped = false
  const successes = new Map<string, number>()
  const failures: { reason: string; servers: string }[] = []
  let slowestMs = 0
  const send = () =>
    new Promise<void>((done) => {
      const startedMs = performance.now()
      const headers = { 'content-type': 'application/json', 'content-length': body.length }
      const outgoing = request(url, { method: 'POST', agent, headers }, (response) => {
        response.resume().once('close', () => {
          slowestMs = Math.max(slowestMs, performance.now() - startedMs)
          const servers = String(response.headers['x-server'] ?? '')
          if (response.statusCode !== 200) failures.push({ reason: String(response.statusCode), servers })
          else if (!response.complete) failures.push({ reason: 'incomplete response', servers })
          else successes.set(servers, (successes.get(servers) ?? 0) + 1)
          done()
        })
      })
      outgoing.once('error', (error) => {
        failures.push({ reason: error.message, servers: '' })
        done()
      })
      outgoing.end(body)
    })
  const loop = async () => {
    while (!isStopped) await send()
  }
  const running = Promise.all(Array.from({ length: connections }, loop))
  return {
    successes: () => successes.values().reduce((sum, count) => sum + count, 0),
    successesOf: (server) => successes.get(server) ?? 0,
    failures: () => failures,
    slowestMs: () => slowestMs,
    stop: async () => {
      isStopped = true
      await running
      agent.destroy()
    },
  }
}
