import { expect, test } from 'vitest'
import { initialShape, manifestOfShape } from './profile-manifest.ts'

test('the manifest omits programs with a count of zero, and Postgres with a size of zero', () => {
  const none = manifestOfShape({ ...initialShape, apiReplicas: 0, processors: 0, storageGb: 0 })
  expect(JSON.parse(none)).toMatchObject({ deploy: { processor: [] }, scale: { dedicated: true } })
  expect(none).not.toMatch(/postgres|replicas/)
})
