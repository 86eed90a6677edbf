import { TypeormDatabase } from '@subsquid/typeorm-store'
import { toTransfer } from './mapping'
import type { Transfer } from './model'
import { processor } from './processor'

processor.run(new TypeormDatabase({ supportHotBlocks: true }), async (ctx) => {
  const transfers: Transfer[] = []
  for (const block of ctx.blocks) {
    for (const log of block.logs) {
      const transfer = toTransfer(block.header, log)
      if (transfer) transfers.push(transfer)
    }
  }
  await ctx.store.insert(transfers)
})
