import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClusterCloud, hasClusterNetwork, startClusterCloud } from '../support/cluster-cloud.ts'
import { cutOff, hasOwnNodes, schedulePodsOnlyOn } from '../support/cluster-nodes.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { hasCluster, kubectl, nodeNames } from '../support/kubernetes.ts'
import { connectTo } from '../support/postgres.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

/** The time limit for the move of the programs: three times its duration on an idle machine, of which the cluster needs ten seconds to notice the lost node. */
const moveTimeoutMs = 180_000

describe.skipIf(!hasCluster || !hasClusterNetwork || !hasOwnNodes)(
  'a squid that indexes while its node is cut off',
  () => {
    let opened: ClusterCloud
    let database: Client

    beforeAll(async () => {
      opened = await startClusterCloud()
    }, 600_000)

    afterAll(async () => {
      await database?.end()
      await opened?.end()
    }, 120_000)

    /** Returns the number and times of committed inserts for each login, in the order of their first inserts. */
    const writers = async () => {
      const { rows } = await database.query<{ writer: string; writes: number; first: Date; last: Date }>(
        'select writer, count(*)::int as writes, min(at) as first, max(at) as last from writes group by writer order by min(at)',
      )
      return rows
    }

    test(
      'loses no data and writes none twice: the processor and the api continue on the other node',
      { timeout: 900_000 },
      async () => {
        const { cloud, postgres, selector } = opened
        const { chain } = cloud.devnet
        const [lost = '', other = ''] = await nodeNames()
        const allowOthers = await schedulePodsOnlyOn(lost)
        const deployment = await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1' }), 500_000)
        expect(deployment, cloud.shoal.output().slice(-3000)).toMatchObject({ status: 'OK', failed: 'NO' })
        await allowOthers()
        const shoal = await connectTo(cloud.shoal.dataDir, 'shoal')
        const { rows } = await shoal.query<{ database: string }>('select database from squid_databases')
        await shoal.end()
        database = new Client(postgres.url(rows[0]?.database ?? ''))
        await database.connect()
        // A trigger inserts these rows in the squid's own transactions, so they record which login committed each insert.
        await database.query(`
      create table writes (writer text default session_user, at timestamptz default clock_timestamp());
      grant insert on writes to public;
      create function record_write() returns trigger language plpgsql as $$
        begin insert into public.writes default values; return null; end $$;
      create trigger record_write after insert on transfer for each statement execute function record_write();`)

        const endpoint = cloud.endpointOf('erc20-transfers@v1')
        const stopping = new AbortController()
        const transferring = (async () => {
          while (!stopping.signal.aborted) {
            await chain.transfer(1)
            await pause(300)
          }
        })()
        await until(async () => (await writers()).length === 1, 'the processor writes')
        const restore = cutOff(lost)
        const cutAt = new Date()
        let apiBackAt: Date | null = null
        const watchingApi = (async () => {
          while (!stopping.signal.aborted) {
            const isResponding = (await totalTransfers(endpoint).catch(() => null)) !== null
            const nodes = await apiNodes(selector)
            if (isResponding && nodes.includes(other)) apiBackAt ??= new Date()
            await pause(200)
          }
        })()
        await until(async () => {
          const [first] = await writers()
          return first && first.last.getTime() > cutAt.getTime() + 3000
        }, 'the processor continues to write while its node is cut off')
        const moved = await until(async () => (await writers())[1], 'another processor writes', moveTimeoutMs)
        await until(() => apiBackAt, 'the api responds from the other node', moveTimeoutMs)
        const writersAfterMove = await writers()
        await until(async () => ((await writers())[1]?.writes ?? 0) > moved.writes + 10, 'the new processor indexes')
        restore()
        await kubectl(['wait', `node/${lost}`, '--for=condition=Ready', '--timeout=50s'])
        // The old program runs until its node receives the deletion of the pod.
        const before = (await writers())[1]?.writes ?? 0
        await until(
          async () => ((await writers())[1]?.writes ?? 0) > before + 10,
          'the new processor continues when the node is back',
        )
        stopping.abort()
        await Promise.all([transferring, watchingApi])

        const [old, next, ...more] = await writers()
        expect(more).toEqual([])
        expect(old).toEqual(writersAfterMove[0])
        expect(Number(next?.first)).toBeGreaterThan(Number(old?.last))
        const transfers = await chain.countTransfers()
        await until(async () => (await totalTransfers(endpoint)) === transfers, 'every transfer is indexed once')
        const seconds = (at: Date | null) => Math.round((Number(at) - cutAt.getTime()) / 1000)
        console.log(
          `After the cut: last write of the old processor ${seconds(old?.last ?? null)} s, first of the new one ${seconds(next?.first ?? null)} s, api on the other node ${seconds(apiBackAt)} s`,
        )
      },
    )
  },
)

/** Returns the nodes on which the api runs. */
const apiNodes = async (selector: string): Promise<string[]> => {
  const pods = `${selector},shoal.dev/container=api`
  const path = 'jsonpath={.items[?(@.status.phase=="Running")].spec.nodeName}'
  return (await kubectl(['get', 'pods', '-A', '-l', pods, '-o', path])).split(' ')
}
