import { describe, expect, test } from 'vitest'
import { cutOff, hasOwnNodes } from '../support/cluster-nodes.ts'
import { hasCluster } from '../support/kubernetes.ts'
import { container, openDriver, countConcurrentPods, workload } from './driver-harness.ts'

describe.skipIf(!hasCluster || !hasOwnNodes)('a node that is cut off from the control plane', () => {
  test(
    'keeps its processor until Shoal abandons this processor and starts another one on another node',
    { timeout: 300_000 },
    async () => {
      const { runtime, until, observe, namespace } = await openDriver()
      const processor = container('processor')
      await runtime.apply(workload([processor]))
      await until('processor', { state: 'running' })
      const first = (await observe('processor'))?.run
      const node = first?.node ?? ''
      const restore = cutOff(node)
      const watching = countConcurrentPods(namespace, 'processor')
      await until('processor', {
        state: 'starting',
        hostLostSince: expect.any(Date),
        reason: `It waits for its host ${node}, which does not respond`,
      })
      const changed = { ...processor, env: { LOGIN: 'next' } }
      await runtime.apply(workload([changed]))
      // The changed container must not start a second program before Shoal abandons the lost one.
      await until('processor', { state: 'starting', hostLostSince: expect.any(Date) })
      expect(await watching.end()).toBe(1)

      await runtime.abandon('12.1', 'processor')
      await until('processor', { state: 'running', hostLostSince: null, run: { ordinal: 1 } })
      const second = (await observe('processor'))?.run
      expect(second?.node).not.toBe(node)
      await runtime.abandon('12.1', 'processor')
      expect((await observe('processor'))?.run).toEqual(second)
      restore()
    },
  )
})
