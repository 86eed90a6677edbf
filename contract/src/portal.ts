import { z } from 'zod'
import { endpoint } from './endpoint.ts'

export const PortalDataset = z.object({
  /** The slug in URLs, as in `ethereum-mainnet`. */
  id: z.string(),
  title: z.string(),
  /** A URL, or a path of this origin. Null: show the first letter of the title. */
  iconUrl: z.string().nullable(),
  type: z.string(),
  testnet: z.boolean(),
})
export type PortalDataset = z.infer<typeof PortalDataset>

export const PortalDatasetDetails = PortalDataset.extend({
  url: z.string(),
  /** The portal this installation is connected to, or an RPC chain of this installation. Null: not available. */
  source: z.enum(['portal', 'rpc']).nullable(),
  /** The RPC chain of the same network, if any. */
  chain: z.string().nullable(),
})
export type PortalDatasetDetails = z.infer<typeof PortalDatasetDetails>

export const portal = {
  listDatasets: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/portal/datasets',
    access: 'member',
    summary: 'Datasets of the Portal',
    payload: z.array(PortalDataset),
  }),
  getDataset: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/portal/datasets/{id}',
    access: 'member',
    summary: 'One dataset and its streaming URL',
    payload: PortalDatasetDetails,
  }),
}
