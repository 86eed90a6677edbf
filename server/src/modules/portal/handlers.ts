import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { notFound } from '../../errors.ts'
import type { Handlers } from '../call.ts'
import { gatewayRootOf, iconPathOf } from '../rpc/index.ts'
import { datasetsOf, sourceOf, type Dataset } from './catalogue.ts'

export function portalHandlers(app: App): Handlers<Contract['portal']> {
  const datasets = datasetsOf(app)
  return {
    listDatasets: async () => (await datasets.all()).map(datasetAnswer),
    getDataset: async ({ org, params }) => {
      const dataset = await datasets.find(params.id)
      if (!dataset) throw notFound('Dataset')
      return {
        ...datasetAnswer(dataset),
        url: `${gatewayRootOf(app.config, org.code)}/portal/datasets/${dataset.id}`,
        source: sourceOf(app.config, dataset),
        chain: dataset.chain?.id ?? null,
      }
    },
  }
}

const datasetAnswer = (dataset: Dataset) => ({
  id: dataset.id,
  title: dataset.title,
  iconUrl: dataset.chain?.iconUrl ?? iconPathOf(dataset.title),
  type: dataset.type,
  testnet: dataset.isTestnet,
})
