// The process of `SeparateListeners`. It ends when the process that started it ends.

import { SimListeners } from './sim-listeners.ts'
import type { SeparateMessage } from './separate-listeners.ts'
import { progressAfter } from '../sim-progress.ts'

const listeners = new SimListeners()

process.on('message', (message: SeparateMessage) => {
  if ('close' in message) return listeners.close(message.close)
  const { path, startedAtMs, response, sync } = message.open
  listeners.open(path, {
    behaviour: response ? { response } : {},
    progress: () => (sync ? progressAfter(sync, (Date.now() - startedAtMs) / 1000) : null),
  })
})
process.on('disconnect', () => process.exit())
