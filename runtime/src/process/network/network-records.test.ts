import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { NetworkRecords } from './network-records.ts'
import { runScript } from './run-script.ts'

test.skipIf(process.getuid?.() !== 0)(
  'a record that cannot be written, because the disk is full, keeps its value',
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'shoal-records-'))
    await runScript(`mount -t tmpfs -o size=64k none ${dir}`)
    try {
      const records = new NetworkRecords<{ rules: string }>(dir)
      const longer = { rules: 'second '.repeat(1000) }
      records.set('one', { rules: 'first' })
      expect(() => writeFileSync(join(dir, 'other'), 'x'.repeat(100_000))).toThrow('ENOSPC')
      expect(() => records.set('one', longer)).toThrow('ENOSPC')
      expect([records.ids(), records.get('one')]).toEqual([['one'], { rules: 'first' }])
      rmSync(join(dir, 'other'))
      records.set('one', longer)
      expect(records.get('one')).toEqual(longer)
    } finally {
      await runScript(`umount ${dir}`)
      rmSync(dir, { recursive: true })
    }
  },
)
