import { expect, test } from 'vitest'
import { initialShape, manifestOfShape } from './profile-manifest.ts'

test('parts with a count of zero are not in the manifest', () => {
  const none = manifestOfShape({ ...initialShape, apiReplicas: 0, processors: 0, storageGb: 0 })
  expect(JSON.parse(none)).toMatchObject({ deploy: { processor: [] }, scale: { dedicated: true } })
  expect(none).not.toMatch(/postgres|replicas/)
})
