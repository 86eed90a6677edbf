import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { KubeConfig } from '@kubernetes/client-node'
import { onTestFinished } from 'vitest'
import { KubeClient } from './kube-client.ts'

/** How the scripted API server responds to one request. */
export type ScriptedResponse = (response: ServerResponse, url: URL) => void

/**
 * Starts an API server whose responses a test scripts, to simulate failures that cannot be caused on a real one. It takes one of
 * `responses` for each request, and records `requests` and their `bodies`.
 */
export async function startScriptedApiServer(): Promise<{
  client: KubeClient
  responses: ScriptedResponse[]
  requests: URL[]
  bodies: string[]
}> {
  const responses: ScriptedResponse[] = []
  const requests: URL[] = []
  const bodies: string[] = []
  const server = createServer(async (request: IncomingMessage, response) => {
    const url = new URL(request.url ?? '', 'http://localhost')
    requests.push(url)
    bodies.push(await text(request))
    const respond = responses.shift()
    if (respond) respond(response, url)
    // Without a response, a request hangs, as a watch without changes does.
    else if (url.searchParams.get('watch')) response.writeHead(200).flushHeaders()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const config = new KubeConfig()
  config.loadFromClusterAndUser(
    { name: 'test', server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, skipTLSVerify: true },
    { name: 'test' },
  )
  const client = new KubeClient(config)
  onTestFinished(() => {
    client.close()
    server.closeAllConnections()
    server.close()
  })
  return { client, responses, requests, bodies }
}

/** Responds with a list of objects with these names, at this `resourceVersion`. */
export const listResponse =
  (version: number, ...names: string[]): ScriptedResponse =>
  (response) =>
    response.end(
      JSON.stringify({
        metadata: { resourceVersion: String(version) },
        items: names.map((name) => object(name, version)),
      }),
    )

/** Sends events as lines, then ends the watch, breaks its connection or leaves it open. */
export const watchResponse =
  (then: 'end' | 'break' | 'stay open', ...lines: object[]): ScriptedResponse =>
  (response) => {
    response.writeHead(200)
    response.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''), () => {
      if (then === 'end') response.end()
      if (then === 'break') response.destroy()
    })
  }

export const watchEvent = (type: string, name: string, version: number) => ({ type, object: object(name, version) })

export const failureResponse =
  (status: number, reason: string): ScriptedResponse =>
  (response) => {
    response.writeHead(status).end(JSON.stringify({ kind: 'Status', reason, message: `It is ${reason}` }))
  }

const object = (name: string, version: number) => ({
  metadata: {
    name,
    namespace: 'one',
    uid: name,
    resourceVersion: String(version),
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
})
