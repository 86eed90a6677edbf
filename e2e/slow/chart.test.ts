import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { chart, missingHelm, runHelm, valuesOf } from '../support/chart.ts'
import { repositoryRoot } from '../support/shoal.ts'

const secretNames = /(KEY|TOKEN|SECRET|PASSWORD|DSN|DATABASE_URL|MAIL_URL)/

describe.skipIf(missingHelm !== null)('the Helm chart', { timeout: 900_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'chart-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  const run = (...args: string[]) => runHelm(args)
  const render = (...args: string[]) => run('template', 'shoal', chart, '--namespace', 'shoal', ...args)

  test.each(['minimal', 'small', 'large'])(
    'with the values %s, is valid and renders the recorded objects',
    async (name) => {
      const lint = await run('lint', chart, '--strict', '--namespace', 'shoal', ...valuesOf(name))
      expect(lint, lint.output).toMatchObject({ code: 0 })
      const { code, output } = await render(...valuesOf(name))
      expect(code, output).toBe(0)
      await expect(output).toMatchFileSnapshot(join(chart, `tests/golden/${name}.yaml`))
    },
  )

  test('accepts the values in docs/install/kubernetes.md', async () => {
    const page = readFileSync(join(repositoryRoot, 'docs/install/kubernetes.md'), 'utf8')
    const file = join(folder, 'page.yaml')
    writeFileSync(file, /^```yaml\n([^]*?)^```$/m.exec(page)?.[1] ?? '')
    const { code, output } = await render('-f', file)
    expect(code, output).toBe(0)
    expect(output).toContain('https://shoal.example.com')
  })

  test.each(['minimal', 'large'])(
    'with the values %s, contains secrets only as references to Secrets',
    async (name) => {
      const { output } = await render(...valuesOf(name))
      const objects = output.split(/^---$/m)
      expect(objects.filter((object) => /^kind: Secret$/m.test(object))).toEqual([])
      for (const object of objects.filter((text) => /^kind: ConfigMap$/m.test(text)))
        expect(object.split('\n').filter((line) => new RegExp(`^  \\w*${secretNames.source}\\w*:`).test(line))).toEqual(
          [],
        )
      const lines = output.split('\n')
      const values = lines.filter((line, index) => secretNames.test(lines[index - 1] ?? '') && /^\s+value: /.test(line))
      expect(values).toEqual([])
    },
  )

  test.each([
    ['an unknown value', { gatewy: {} }, "additional properties 'gatewy' not allowed"],
    ['no replicas', { api: { replicas: 0 } }, "at '/api/replicas': minimum: got 0, want 1"],
    ['replicas as text', { api: { replicas: 'two' } }, "at '/api/replicas': got string, want integer"],
    ['a URL without its scheme', { publicUrl: 'shoal.example.com' }, "at '/publicUrl'"],
    [
      'a URL with a password',
      { s3: { endpoint: 'https://me:secret@s3.example.com' } },
      's3.endpoint must be a URL without credentials',
    ],
    [
      'a wrong quantity',
      { worker: { resources: { limits: { memory: '4 GB' } } } },
      "at '/worker/resources/limits/memory'",
    ],
    ['a share of CPU above 1', { squids: { cpuRatio: 2 } }, "at '/squids/cpuRatio': maximum: got 2, want 1"],
    [
      'an unknown type of Service',
      { api: { service: { type: 'Public' } } },
      "at '/api/service/type': value must be one of",
    ],
    ['no image', { image: '' }, 'image must be set: the image of Shoal, such as'],
    ['no public URL', { publicUrl: '' }, 'publicUrl must be set'],
    ['no Secret', { existingSecret: '' }, 'existingSecret must be set: the name of a Secret with DATABASE_URL'],
    [
      'no registry',
      { registry: { address: '' } },
      'registry.address must be set: nodes pull the images of squids from it',
    ],
    ['no bucket', { s3: { bucket: '' } }, 's3.bucket must be set'],
    [
      'a maximum of replicas below the minimum',
      { gateway: { autoscaling: { minReplicas: 5, maxReplicas: 2 } } },
      'gateway.autoscaling.minReplicas is 5, which is more than maxReplicas (2)',
    ],
    [
      'autoscaling without a request',
      { gateway: { resources: { requests: { cpu: null } } } },
      'gateway.resources.requests.cpu must be set',
    ],
    [
      'the collector in the namespace of Shoal',
      { collector: { namespace: 'shoal' } },
      'collector.namespace must not be the namespace of the release',
    ],
    [
      'a secret as a setting',
      { settings: { SHOAL_STRIPE_SECRET_KEY: 'x' } },
      'settings.SHOAL_STRIPE_SECRET_KEY is a secret: put it into the Secret shoal',
    ],
    [
      'a setting with a password',
      { settings: { SHOAL_PORTAL_URL: 'https://me:secret@example.com' } },
      'settings.SHOAL_PORTAL_URL has a URL with credentials',
    ],
    ['a setting that the chart sets', { settings: { SHOAL_ROLES: 'api' } }, 'settings.SHOAL_ROLES is set by the chart'],
    [
      'the listener of builds',
      { settings: { SHOAL_KUBE_BUILDS_LISTEN: '10.0.0.5:1' } },
      'settings.SHOAL_KUBE_BUILDS_LISTEN is set by the chart',
    ],
    [
      'a variable that is not a setting',
      { settings: { NODE_OPTIONS: '--inspect' } },
      "invalid propertyName 'NODE_OPTIONS'",
    ],
    [
      'a setting twice',
      { settings: { SHOAL_RPC_RATE: 5 }, secretSettings: ['SHOAL_RPC_RATE'] },
      'SHOAL_RPC_RATE is in settings and in secretSettings',
    ],
  ])('refuses %s', async (_, values, message) => {
    const file = join(folder, 'values.json')
    writeFileSync(file, JSON.stringify(values))
    const { code, output } = await render(...valuesOf('minimal'), '-f', file)
    expect(output).toContain(message)
    expect(code).toBe(1)
    expect(output).not.toContain('secret@')
  })
})
