import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { notFound } from '../../errors.ts'
import type { Handlers } from '../call.ts'
import { gatewayRootOf } from '../../config/config.ts'
import { iconPathOf } from '../chains/index.ts'
import { datasetsOf, datasetSourceOf, type Dataset } from './catalogue.ts'

export function portalHandlers(app: App): Handlers<Contract['portal']> {
  const datasets = datasetsOf(app)
  return {
    listDatasets: async () => datasets.all().map(datasetResponse),
    getDataset: async ({ org, params }) => {
      const dataset = datasets.find(params.id)
      if (!dataset) throw notFound('Dataset')
      return {
        ...datasetResponse(dataset),
        url: `${gatewayRootOf(app.config, org.code)}/portal/datasets/${dataset.id}`,
        source: datasetSourceOf(app.config, dataset),
        chain: dataset.chain?.id ?? null,
      }
    },
  }
}

const datasetResponse = (dataset: Dataset) => ({
  id: dataset.id,
  title: dataset.title,
  iconUrl: dataset.chain?.iconUrl ?? iconPathOf(dataset.title),
  type: dataset.type,
  testnet: dataset.isTestnet,
})
