import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { summarizeTree } from './tree.ts'

test('finds only the hosts of configured data sources, without credentials', async () => {
  const root = mkdtempSync(join(tmpdir(), 'shoal-hosts-'))
  const files = {
    'src/processor.ts': `// See https://docs.example.com
      const gateway = 'https://v2.archive.example/network/eth'
      new EvmBatchProcessor().setGateway(gateway).setRpcEndpoint({ url: "wss://user:pass@rpc.example:8546/k-e-y", rateLimit: 10 })`,
    'src/other.ts': "fetch('https://api.example.com')",
    'lib/processor.js': "p.setGateway('https://built.example')",
    'node_modules/x/index.js': "p.setGateway('https://package.example')",
  }
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    expect((await summarizeTree(root)).sourceHosts).toEqual(['v2.archive.example', 'rpc.example:8546'])
  } finally {
    rmSync(root, { recursive: true })
  }
})

test('does not follow links to folders, because the number of paths could grow exponentially', async () => {
  const root = mkdtempSync(join(tmpdir(), 'shoal-hosts-'))
  try {
    writeFileSync(join(root, 'processor.ts'), "p.setGateway('https://v2.archive.example')")
    // With two links, a walk that follows them would visit 2^40 folders.
    for (const name of ['one', 'two']) symlinkSync('.', join(root, name))
    expect((await summarizeTree(root)).sourceHosts).toEqual(['v2.archive.example'])
  } finally {
    rmSync(root, { recursive: true })
  }
})
