import type { PortalDatasetDetails } from '@shoal/contract'
import type { Recipe } from '../../components/SetupGuide.tsx'

type Dataset = Pick<PortalDatasetDetails, 'id' | 'type' | 'url'>

/** Setup instructions for a squid that reads the URL of the dataset from an environment variable. */
export function datasetRecipes({ id, type, url }: Dataset): Recipe[] {
  const variable = `PORTAL_${id.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}_URL`
  const source =
    type === 'evm'
      ? `import { env } from 'node:process'\nimport { EvmBatchProcessor } from '@subsquid/evm-processor'\n\nexport const processor = new EvmBatchProcessor()\n  .setGateway(env.${variable}!)`
      : type === 'substrate'
        ? `import { env } from 'node:process'\nimport { SubstrateBatchProcessor } from '@subsquid/substrate-processor'\n\nexport const processor = new SubstrateBatchProcessor()\n  .setGateway(env.${variable}!)`
        : null
  return [
    {
      id: 'env',
      label: '.env',
      text: 'For a squid on your own machine.',
      code: `${variable}=${url}`,
    },
    {
      id: 'manifest',
      label: 'squid.yaml',
      text: 'For a deployed squid: the same variable in its manifest.',
      code: `deploy:\n  env:\n    ${variable}: ${url}`,
    },
    ...(source === null
      ? []
      : [
          { id: 'processor', label: 'processor.ts', text: 'The source of the blocks for the processor.', code: source },
        ]),
    {
      id: 'curl',
      label: 'curl',
      text: 'The metadata and the height of the dataset.',
      code: `curl ${url}/metadata\ncurl ${url}/height`,
    },
  ]
}
