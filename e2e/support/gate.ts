import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A server on the host, on which programs in pods wait: it counts their requests and answers them once it is open. */
export type Gate = { host: string; port: number; waiting: () => number; open: () => void }

/** Starts a gate on `host`, which ends with the test. */
export async function openGate(host: string): Promise<Gate> {
  let count = 0
  let isOpen = false
  const answers = new Set<() => void>()
  const server = createServer((_request, response) => {
    count += 1
    if (isOpen) response.end()
    else answers.add(() => response.end())
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    host,
    port: (server.address() as AddressInfo).port,
    waiting: () => count,
    open() {
      isOpen = true
      for (const answer of answers) answer()
    },
  }
}
