/**
 * The endpoints that an operator may call as support: what a viewer reads, without secrets, exports and requests to squids. A new
 * endpoint is not among them until it is added here.
 */
const endpointsOfSupport = new Set(
  `orgs.get orgs.listRoles orgs.getQuotas squids.list squids.listSummaries squids.get deployments.list deployments.get
  logs.history logs.follow metrics.getIngress metrics.getSquidIngress metrics.getSquidUsage monitoring.query rpc.listChains
  rpc.getChain portal.listDatasets portal.getDataset billing.getReceipt billing.listInvoices billing.getSummary
  billing.getSquidCost billing.getLimits alerts.list alerts.listRules alerts.listMutes alerts.listChannels
  alerts.listDeliveries`.split(/\s+/),
)

/** Whether support may call the endpoint with this full name, such as `squids.get`. */
export const isForSupport = (name: string): boolean => endpointsOfSupport.has(name)
