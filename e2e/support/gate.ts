import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A server on this host on which programs in pods wait: it responds to their requests only after `open`. */
export type Gate = { host: string; port: number; requestCount: () => number; open: () => void }

/** Starts a gate on the address `host`, until the end of the test. */
export async function openGate(host: string): Promise<Gate> {
  let count = 0
  let isOpen = false
  const responses = new Set<() => void>()
  const server = createServer((_request, response) => {
    count += 1
    if (isOpen) response.end()
    else responses.add(() => response.end())
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    host,
    port: (server.address() as AddressInfo).port,
    requestCount: () => count,
    open() {
      isOpen = true
      for (const respond of responses) respond()
    },
  }
}
