import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Message } from '../server/src/modules/alerts/channels/message.ts'
import { parseManifest, parsePlan } from '../server/src/modules/manifest/index.ts'
import { readRpcConfig } from '../server/src/modules/chains/rpc-config.ts'
import { parse } from 'yaml'
import { root } from './root.ts'

type Block = { page: string; language: string; text: string }

/** The blocks of code in the documents for operators, without diagrams (`text`); `e2e/full/install-pages.test.ts` and its neighbours run those of docs/install. */
const blocks: Block[] = globSync('docs/*.md', { cwd: root })
  .sort()
  .flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8')
    const found = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    return found
      .map(([, language = '', code = '']) => ({ page, language, text: code }))
      .filter(({ language }) => language !== 'text')
  })

/** How each block is verified, by its key: the test that uses it, or the reason why no test can run it. */
const verified: Record<string, { test: string } | { reason: string }> = {
  'docs/alerts.md {': { test: 'scripts/documentation-operators.test.ts' },
  "docs/alerts.md import { createHash, createHmac, timingSafeEqual } from 'node:crypto'": {
    test: 'server/src/modules/alerts/channels/delivery-jobs.test.ts',
  },
  'docs/hasura.md deploy:': { test: 'scripts/documentation-operators.test.ts' },
  'docs/rpc.md chains:': { test: 'scripts/documentation-operators.test.ts' },
  'docs/operate.md scrape_configs:': { test: 'scripts/documentation-operators.test.ts' },
  'docs/operate.md SHOAL_SQUIDS_DATABASE_URL=': { test: 'server/src/config/database-settings.test.ts' },
  'docs/operate.md npm run -s shoal -- squid-database move --squid <organization>/<name@slot> --to second --estimate': {
    test: 'e2e/slow/moved-database.test.ts',
  },
  'docs/kubernetes.md export SHOAL_SQUIDS_DATABASE_URL=': {
    reason:
      'needs CloudNativePG; server/src/cli/postgres.test.ts and e2e/kubernetes/postgres-operator.test.ts test the commands',
  },
  'docs/kubernetes.md kubectl drain NODE --ignore-daemonsets --delete-emptydir-data': {
    reason: 'NODE stands for a node; e2e/kubernetes/load.test.ts drains one',
  },
  'docs/kubernetes.md kubectl logs -n shoal deploy/shoal-worker --tail=100': {
    reason: 'reads an installation with the chart, whose commands e2e/kubernetes/chart.test.ts runs',
  },
  "docs/kubernetes.md kubectl exec -n NAMESPACE POD -- node -e \"require('net').connect(4000, 'ADDRESS').on('connect', () => { console.log('reached'); process.exit() }); setTimeout(() => process.exit(), 5000)\"":
    { reason: 'names a pod and an address; e2e/kubernetes/policies.test.ts tests the network policies' },
  'docs/kubernetes.md npm run test:kubernetes -- e2e/kubernetes/cluster.test.ts': {
    reason: 'runs the tests themselves, on a cluster that a developer keeps',
  },
}

/** The page and the first line; of a variable, only the name. */
const keyOf = ({ page, text }: Block) =>
  `${page} ${text
    .split('\n')[0]
    ?.trimEnd()

    .replace(/^((?:export )?[A-Z_]+=).*/, '$1')}`
const textOf = (page: string, language: string) =>
  blocks.find((block) => block.page === page && block.language === language)?.text ?? ''

test('every block of code in the documents for operators is verified by a test, or has the reason why none can run it', () => {
  expect(blocks.map(keyOf).sort()).toEqual(Object.keys(verified).sort())
  for (const [key, how] of Object.entries(verified)) {
    const files = 'test' in how ? [how.test] : (how.reason.match(/[\w/-]+\.test\.ts/g) ?? [])
    for (const file of files) expect(existsSync(join(root, file)), `${key}: ${file}`).toBe(true)
    if ('reason' in how) expect(how.reason.length, key).toBeGreaterThan(20)
  }
})

test('the manifest with Hasura is valid', () => {
  const [deploy = ''] = textOf('docs/hasura.md', 'yaml').split(/^scale:/m)
  const processor = '  processor:\n    cmd: [node, lib/main.js]\n'
  const manifest = parseManifest(`manifest_version: subsquid.io/v0.1\nname: example\n${deploy}${processor}`)
  expect(parsePlan(manifest).processors).toHaveLength(1)
  expect(JSON.stringify(manifest)).toContain('HASURA_GRAPHQL_ADMIN_SECRET')
})

test('the server accepts the file with chains', () => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-documents-'))
  try {
    const file = join(folder, 'rpc.yaml')
    writeFileSync(file, textOf('docs/rpc.md', 'yaml'))
    expect(Object.keys(readRpcConfig(file))).toEqual(['eth', 'polkadot', 'our-chain'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('the settings of Prometheus name pages that exist', () => {
  const { scrape_configs: jobs } = parse(textOf('docs/operate.md', 'yaml')) as {
    scrape_configs: { job_name: string; metrics_path?: string }[]
  }
  expect(jobs.map(({ job_name: name }) => name)).toEqual(['shoal', 'squids'])
  const contract = readFileSync(join(root, 'contract/src/monitoring.ts'), 'utf8')
  const path = jobs[1]?.metrics_path?.replace('<organization>', '{code}').replace(/^\/api/, '')
  expect(contract).toContain(`path: '${path}'`)
})

test('the example of a message has exactly the fields that webhooks send', () => {
  const { url, helpUrl, ...message } = JSON.parse(textOf('docs/alerts.md', 'json')) as Record<string, unknown>
  expect(Message.strict().parse(message)).toEqual(message)
  expect([url, helpUrl].every((link) => URL.canParse(String(link)))).toBe(true)
})
