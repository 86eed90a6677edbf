import { keepPreviousData } from '@tanstack/react-query'
import { q } from '../../api/query.ts'

/** The values of the form that users can fill in instead of giving a manifest. */
export type SquidShape = {
  isDedicated: boolean
  apiProfile: string
  apiReplicas: number
  processorProfile: string
  processors: number
  postgresProfile: string
  storageGb: number
}

export const initialShape: SquidShape = {
  isDedicated: true,
  apiProfile: 'small',
  apiReplicas: 1,
  processorProfile: 'small',
  processors: 1,
  postgresProfile: 'small',
  storageGb: 10,
}

/** Builds a manifest from the form's values, so that both estimates use the same endpoint. It is JSON, which is valid YAML. */
export function manifestOfShape(shape: SquidShape): string {
  const { isDedicated, apiProfile, apiReplicas, processorProfile, processors, postgresProfile, storageGb } = shape
  const cmd = ['node', 'lib/main.js']
  return JSON.stringify({
    manifest_version: 'subsquid.io/v0.1',
    name: 'estimate',
    build: {},
    deploy: {
      ...(storageGb > 0 && { addons: { postgres: {} } }),
      processor: Array.from({ length: processors }, (_, i) => ({ name: `processor-${i + 1}`, cmd })),
      ...(apiReplicas > 0 && { api: { cmd } }),
    },
    scale: {
      dedicated: isDedicated,
      ...(apiReplicas > 0 && { api: { profile: apiProfile, replicas: apiReplicas } }),
      processor: { profile: processorProfile },
      ...(storageGb > 0 && { addons: { postgres: { profile: postgresProfile, storage: `${storageGb}Gi` } } }),
    },
  })
}

/** The cost of a squid with this manifest. */
export const estimateQuery = (code: string, manifest: string) =>
  q('billing.estimate', { params: { code }, body: { manifest } }, { retry: false, placeholderData: keepPreviousData })

/** The estimate that the form shows first. */
export const initialEstimateQuery = (code: string) => estimateQuery(code, manifestOfShape(initialShape))
