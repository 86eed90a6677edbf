/**
 * The steps of the first tour, in order (spec 2.4, which gives no texts for the second tour). `onboardingGuide` of the local settings
 * is the index of the current step. The texts are in `steps.ts`, which only users who see the tour load.
 */
export const firstTour = ['personal_settings', 'api_key', 'org_menu', 'org_settings', 'done'] as const

export type Step = (typeof firstTour)[number]

/** The index that means that the tour is over. */
export const doneStep = firstTour.indexOf('done')
