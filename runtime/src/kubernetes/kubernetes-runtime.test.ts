import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../until.ts'
import { createKubernetesRuntime } from './kubernetes-runtime.ts'

/** Starts an API server without objects, which does not respond until `connect` is called, and permits everything except deletions. */
async function startApiServer(): Promise<{ kubeconfig: string; connect: () => void }> {
  let isConnected = false
  const server = createServer(async (request, response) => {
    if (!isConnected) {
      request.socket.destroy()
      return
    }
    const { searchParams } = new URL(request.url ?? '', 'http://localhost')
    const body = await text(request)
    if (searchParams.get('watch')) response.writeHead(200).flushHeaders()
    else if (request.method === 'GET') response.end('{"metadata":{"resourceVersion":"1"},"items":[]}')
    else response.end(JSON.stringify({ status: { allowed: !body.includes('"delete"') } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const folder = mkdtempSync(join(tmpdir(), 'kube-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const name = 'test'
  const config = {
    'current-context': name,
    clusters: [{ name, cluster: { server: url, 'insecure-skip-tls-verify': true } }],
    users: [{ name, user: {} }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  }
  const kubeconfig = join(folder, 'config')
  writeFileSync(kubeconfig, JSON.stringify(config))
  return { kubeconfig, connect: () => void (isConnected = true) }
}

const start = async (kubeconfig: string) => {
  const messages: string[] = []
  const runtime = createKubernetesRuntime({
    installation: 'test',
    kubeconfig,
    kubeletCaFile: null,
    logListener: null,
    log: (message) => messages.push(message),
    quota: {},
    registryAuth: null,
    ingressFrom: [],
    egressTo: [],
    cpuRequestRatio: 1,
    runtimeClass: null,
    containerDiskBytes: 0,
  })
  onTestFinished(() => runtime.close('keep'))
  return { messages, limitations: await runtime.start() }
}

const missing = /not sufficient .*: delete namespaces/

test('the start returns which rights are missing', async () => {
  const { kubeconfig, connect } = await startApiServer()
  connect()
  const { messages, limitations } = await start(kubeconfig)
  expect(limitations).toEqual([expect.stringMatching(missing)])
  expect(messages).toEqual([])
})

test('if the cluster does not respond at the start, missing rights are logged when it responds', async () => {
  const { kubeconfig, connect } = await startApiServer()
  const { messages, limitations } = await start(kubeconfig)
  expect(limitations).toEqual([])
  connect()
  await until(() => expect(messages).toContain('The cluster responds'))
  expect(messages.filter((message) => missing.test(message))).toHaveLength(1)
})
