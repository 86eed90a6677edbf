/** The label of the alert about a failed deployment (spec 4). */
export const failedDeployLabel = 'Last deploy was finished with an error'
