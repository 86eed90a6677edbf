/** The codes of an organization with data of every kind, and of one without any. */
export const fullOrg = 'harbour-analytics'
export const emptyOrg = 'new-harbour'
