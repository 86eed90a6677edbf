import { Pool } from 'undici'

export type GatewayLoad = {
  /** Returns the number of requests that have ended. */
  total: () => number
  /** Stops, and returns the number of each unexpected result: a status with an error code, or a failure of the connection. */
  stop: () => Promise<[result: string, count: number][]>
}

/** Requests a squid that does not exist, without pause, over this many keep-alive connections. The client does not send a request again. */
export function startGatewayLoad(url: string, connections: number): GatewayLoad {
  const pool = new Pool(url, { connections })
  let isSending = true
  const results = new Map<string, number>()
  const send = async () => {
    const { statusCode, body } = await pool.request({
      path: '/acme/none@v1/api/graphql',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{ height }"}',
    })
    const text = await body.text()
    const code = /"code":"(\w+)"/.exec(text)?.[1] ?? text.slice(0, 80)
    return `${statusCode} ${code}`
  }
  const client = async () => {
    while (isSending) {
      const result = await send().catch((error: Error) => `failed: ${error.message}`)
      results.set(result, (results.get(result) ?? 0) + 1)
    }
  }
  const running = Promise.all(Array.from({ length: connections }, client))
  return {
    total: () => [...results.values()].reduce((sum, count) => sum + count, 0),
    stop: async () => {
      isSending = false
      await running
      await pool.close()
      return [...results].filter(([result]) => result !== '404 SQUID_NOT_FOUND')
    },
  }
}
