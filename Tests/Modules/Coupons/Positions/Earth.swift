import Foundation

/// Distances on the WGS 84 spheroid by Vincenty's formula (Survey Review 23/176, 1975), which
/// shares no code with PostGIS.
enum Earth {
    private static let a = 6_378_137.0
    private static let f = 1 / 298.257_223_563
    private static let b = a * (1 - f)

    /// Metres between two places that are not nearly opposite each other.
    static func distance(_ from: Place, _ to: Place) -> Double {
        let l = radians(to.longitude - from.longitude)
        let u1 = atan((1 - f) * tan(radians(from.latitude)))
        let u2 = atan((1 - f) * tan(radians(to.latitude)))
        var lambda = l
        var previous = Double.infinity
        var sinSigma = 0.0
        var cosSigma = 0.0
        var sigma = 0.0
        var cosSquaredAlpha = 0.0
        var cos2SigmaM = 0.0
        for _ in 0..<200 where abs(lambda - previous) > 1e-14 {
            let x = cos(u2) * sin(lambda)
            let y = cos(u1) * sin(u2) - sin(u1) * cos(u2) * cos(lambda)
            sinSigma = (x * x + y * y).squareRoot()
            if sinSigma == 0 { return 0 }
            cosSigma = sin(u1) * sin(u2) + cos(u1) * cos(u2) * cos(lambda)
            sigma = atan2(sinSigma, cosSigma)
            let sinAlpha = cos(u1) * cos(u2) * sin(lambda) / sinSigma
            cosSquaredAlpha = 1 - sinAlpha * sinAlpha
            cos2SigmaM =
                cosSquaredAlpha == 0 ? 0 : cosSigma - 2 * sin(u1) * sin(u2) / cosSquaredAlpha
            let c = f / 16 * cosSquaredAlpha * (4 + f * (4 - 3 * cosSquaredAlpha))
            previous = lambda
            let bracket =
                cos2SigmaM + c * cosSigma * (-1 + 2 * cos2SigmaM * cos2SigmaM)
            lambda = l + (1 - c) * f * sinAlpha * (sigma + c * sinSigma * bracket)
        }
        let u = cosSquaredAlpha * (a * a - b * b) / (b * b)
        let major = 1 + u / 16_384 * (4_096 + u * (-768 + u * (320 - 175 * u)))
        let minor = u / 1_024 * (256 + u * (-128 + u * (74 - 47 * u)))
        let square = cos2SigmaM * cos2SigmaM
        let third =
            minor / 6 * cos2SigmaM * (-3 + 4 * sinSigma * sinSigma) * (-3 + 4 * square)
        let delta =
            minor * sinSigma * (cos2SigmaM + minor / 4 * (cosSigma * (-1 + 2 * square) - third))
        return b * major * (sigma - delta)
    }

    /// The place at a distance from another, in the direction of a step in degrees.
    static func place(
        _ metres: Double, from origin: Place, towards step: (east: Double, north: Double)
    ) -> Place {
        var near = 0.0
        var far = 1.0
        func at(_ share: Double) -> Place {
            var longitude = origin.longitude + share * step.east
            if longitude > 180 { longitude -= 360 }
            if longitude < -180 { longitude += 360 }
            return Place(longitude, origin.latitude + share * step.north)
        }
        for _ in 0..<100 {
            let middle = (near + far) / 2
            if distance(origin, at(middle)) < metres { near = middle } else { far = middle }
        }
        return at(near)
    }

    private static func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
}
