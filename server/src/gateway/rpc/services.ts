import { join } from 'node:path'
import type { App } from '../../app.ts'
import { notificationsOf } from '../../db/notifications.ts'
import { chainsOf, rpcWatchChannel } from '../../modules/rpc/index.ts'
import { Cache } from './cache.ts'
import { ChainService } from './chain-service.ts'
import { openDiskCache } from './disk-cache.ts'
import { reportHealth } from './health-report.ts'

/** The chains of one process: the RPC route and the Portal's own datasets ask the same nodes and share one cache. */
export type Services = {
  /** Null when there is no such chain. */
  find: (chain: string) => ChainService | null | Promise<ChainService | null>
  /** Ends looking at nodes when the last who opened it has closed it. */
  close: () => Promise<void>
}

const memoryBytes = 67_108_864
const ofApps = new WeakMap<App, { services: Services; users: number }>()

export function openServices(app: App): Services {
  const opened = ofApps.get(app) ?? { services: createServices(app), users: 0 }
  ofApps.set(app, opened)
  opened.users += 1
  let isOpen = true
  return {
    find: opened.services.find,
    close: async () => {
      if (!isOpen) return
      isOpen = false
      opened.users -= 1
      if (opened.users > 0) return
      ofApps.delete(app)
      await opened.services.close()
    },
  }
}

function createServices(app: App): Services {
  const chains = chainsOf(app)
  const diskBytes = app.config.SHOAL_RPC_CACHE_MB * 1_048_576
  const disk = diskBytes > 0 ? openDiskCache(join(app.config.dataDir, 'rpc-cache.sqlite'), diskBytes, app.log) : null
  const cache = new Cache(memoryBytes, disk)
  const services = new Map<string, ChainService>()

  const open = async (id: string): Promise<ChainService | null> => {
    const chain = await chains.find(id)
    if (!chain) return null
    const service = services.get(id) ?? new ChainService(chain, cache, app.log)
    services.set(id, service)
    return service
  }
  const find = (id: string) => services.get(id) ?? open(id)
  const stopReports = reportHealth(app, () => [...services.values()].map((s) => s.pool))
  const stopWatching = notificationsOf(app.database).listen(rpcWatchChannel, {
    onMessage: (id) => void open(id).then((service) => service?.pool.touch()),
  })
  return {
    find,
    close: async () => {
      stopWatching()
      stopReports()
      await Promise.all([...services.values()].map((s) => s.close()))
      disk?.close()
    },
  }
}
