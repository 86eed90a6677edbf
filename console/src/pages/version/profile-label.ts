/** The name of a profile on screens: `Small` for `small`. */
export const profileLabel = (profile: string): string => profile.charAt(0).toUpperCase() + profile.slice(1)
