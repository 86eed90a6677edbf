import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { startDevnet, type Devnet } from '../../../../../scripts/devnet/devnet.ts'
import { rpcTokenOf } from '../../../modules/rpc/tokens.ts'
import { openGatewayTestbed, type GatewayTestbed } from '../../testing/testbed.ts'
import { connectWebSocket } from './ws-client.ts'

let devnet: Devnet
let bed: GatewayTestbed
beforeAll(async () => {
  devnet = await startDevnet()
  bed = await openGatewayTestbed({ env: { SHOAL_DEVNET_URL: devnet.rpcUrl } })
})
afterAll(async () => {
  await bed?.close()
  await devnet?.stop()
})

test('a gateway accepts WebSockets of RPC chains and of squids, and closes both when it stops', async () => {
  const squid = await bed.createVersion()
  const { server } = await bed.serve(squid, (_, res) => res.end())
  const squidServer = new WebSocketServer({ server })
  squidServer.on('connection', (socket) => socket.send('from the squid'))
  const { gateway, url } = await bed.startAnother()
  const address = `${url}/rpc/devnet/${await rpcTokenOf(bed.t.app, bed.org.id)}`
  const client = await connectWebSocket(`${address}?x=1`)
  await client.subscribe('newHeads')
  const squidClient = new WebSocket(`${url.replace('http', 'ws')}/acme/${squid.name}@v1/api`)
  expect(await new Promise((resolve) => squidClient.once('message', (data: Buffer) => resolve(data.toString())))).toBe(
    'from the squid',
  )
  const closed = new Promise((done) => squidClient.once('close', done))
  await gateway.close()
  expect(await client.closed).toMatchObject({ code: 1012 })
  await closed
  squidServer.close()
})
