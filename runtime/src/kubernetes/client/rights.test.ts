import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { gatewayRights, workerRights } from './rights.ts'

const chart = join(import.meta.dirname, '../../../../deploy/chart/files')

/** The chart creates its roles from these files. After a change, `vitest -u` writes them. */
test.each([
  ['gateway', gatewayRights],
  ['worker', workerRights],
])('the chart grants a %s the rights that it needs, and no others', async (role, rights) => {
  const file = join(chart, `${role}-rights.json`)
  await expect(`${JSON.stringify(rights, null, 2)}\n`).toMatchFileSnapshot(file)
  const granted = JSON.parse(readFileSync(file, 'utf8')) as typeof rights
  expect(granted).toEqual(rights)
  const wildcards = granted.filter(({ group, resource, verbs }) => [group, resource, ...verbs].includes('*'))
  expect(wildcards).toEqual([])
  expect(granted.filter(({ subresource }) => subresource === 'proxy' || subresource === 'exec')).toEqual([])
  const verbsOfSecrets = granted.filter(({ resource }) => resource === 'secrets').flatMap(({ verbs }) => verbs)
  expect(verbsOfSecrets.filter((verb) => ['get', 'list', 'watch'].includes(verb))).toEqual([])
})
