"""Units, currencies and counters of English and Japanese, with their factors to a base unit per kind."""

from functools import cache
from typing import NamedTuple


class Unit(NamedTuple):
    """A written unit: its kind, the kind's base unit, and the factor to that."""

    kind: str
    name: str
    factor: float


_TABLE = """
percent % : %=1 percent=1 per_cent=1 pct=1 パーセント=1 割=10
points pt : percentage_points=1 percentage_point=1 pct_points=1 パーセントポイント=1 ％ポイント=1 %ポイント=1 ポイント=1
points pt : basis_points=0.01 basis_point=0.01 bps=0.01 bp=0.01 ベーシスポイント=0.01 points=1 point=1 pts=1 pt=1
money USD : $=1 us$=1 usd=1 dollars=1 dollar=1 us_dollars=1 ドル=1 米ドル=1 弗=1
money ¢ : cents=0.01 cent=0.01 セント=0.01
money JPY : ¥=1 円=1 yen=1 jpy=1 日本円=1 銭=0.01
money EUR : €=1 eur=1 euros=1 euro=1 ユーロ=1
money GBP : £=1 gbp=1 pounds=1 pound=1 ポンド=1 英ポンド=1 pence=0.01 sterling=1 ペンス=0.01 ペニー=0.01 p=0.01
money kronor : kronor=1 krona=1 kroner=1 krone=1 sek=1 nok=1 dkk=1 クローナ=1 クローネ=1
money crowns : crowns=1 crown=1 クラウン=1
money koruna : koruna=1 korunas=1 czk=1 コルナ=1
money forint : forint=1 forints=1 huf=1 フォリント=1
money dong : dong=1 vnd=1 ドン=1
money dinars : dinars=1 dinar=1 ディナール=1
money rubles : rubles=1 ruble=1 roubles=1 rouble=1 rub=1 ルーブル=1
money pesos : pesos=1 peso=1 ペソ=1
money lira : lira=1 リラ=1
money baht : baht=1 thb=1 バーツ=1
money rand : rand=1 zar=1 ランド=1
money reais : reais=1 brl=1 レアル=1
money rupiah : rupiah=1 idr=1 ルピア=1
money zloty : zloty=1 zlotys=1 pln=1 ズウォティ=1
money shekels : shekels=1 shekel=1 シェケル=1
money dirhams : dirhams=1 dirham=1 ディルハム=1
money TWD : 台湾ドル=1 twd=1
money HKD : 香港ドル=1 hkd=1
money CNY : 人民元=1 元=1 yuan=1 rmb=1 cny=1 renminbi=1
money KRW : ₩=1 ウォン=1 won=1 krw=1
money INR : ₹=1 ルピー=1 rupees=1 rupee=1 inr=1
money CHF : スイスフラン=1 swiss_francs=1 フラン=1 francs=1 franc=1 chf=1
money AUD : 豪ドル=1 australian_dollars=1 a$=1 aud=1
money CAD : カナダドル=1 カナダ・ドル=1 canadian_dollars=1 c$=1 cad=1
length m : m=1 metres=1 metre=1 meters=1 meter=1 メートル=1 km=1000 kilometres=1000 kilometre=1000 kilometers=1000
length m : kilometer=1000 キロメートル=1000 ㎞=1000 ㌔=1000 cm=0.01 centimetres=0.01 centimeters=0.01 centimetre=0.01
length m : centimeter=0.01 センチ=0.01 センチメートル=0.01 ㎝=0.01 mm=0.001 millimetres=0.001 millimeters=0.001
length m : millimetre=0.001 millimeter=0.001 ミリ=0.001 ミリメートル=0.001 ㎜=0.001 μm=0.000001 micrometres=0.000001
length m : マイクロメートル=0.000001 nm=0.000000001 nanometres=0.000000001 nanometers=0.000000001 ナノメートル=0.000000001
length m : miles=1609.344 mile=1609.344 mi=1609.344 マイル=1609.344 feet=0.3048 foot=0.3048 ft=0.3048 フィート=0.3048
length m : inches=0.0254 inch=0.0254 インチ=0.0254 yards=0.9144 yard=0.9144 ヤード=0.9144
length m : light-years=9460730472580800 light_years=9460730472580800 光年=9460730472580800
kilo k : キロ=1000
mass kg : kg=1 kilograms=1 kilogram=1 kilogrammes=1 kilos=1 キログラム=1 ㎏=1 g=0.001 grams=0.001 gram=0.001 グラム=0.001
mass kg : mg=0.000001 milligrams=0.000001 milligram=0.000001 ミリグラム=0.000001 ㎎=0.000001 t=1000 tonnes=1000
mass kg : tonne=1000 tons=1000 ton=1000 metric_tons=1000 metric_ton=1000 トン=1000 lb=0.4536 lbs=0.4536 ounces=0.02835
mass kg : μg=0.000000001 micrograms=0.000000001 マイクログラム=0.000000001
energy Wh : wh=1 kwh=1000 kilowatt-hours=1000 kilowatt_hours=1000 キロワット時=1000 キロワットアワー=1000 mwh=1000000
energy Wh : megawatt-hours=1000000 megawatt_hours=1000000 メガワット時=1000000 gwh=1000000000 ギガワット時=1000000000
energy Wh : gigawatt-hours=1000000000 gigawatt_hours=1000000000 twh=1000000000000 terawatt-hours=1000000000000
energy Wh : terawatt_hours=1000000000000 テラワット時=1000000000000
power W : w=1 watts=1 watt=1 ワット=1 kw=1000 kilowatts=1000 kilowatt=1000 キロワット=1000 mw=1000000 megawatts=1000000
power W : megawatt=1000000 メガワット=1000000 gw=1000000000 gigawatts=1000000000 gigawatt=1000000000 ギガワット=1000000000
power W : tw=1000000000000 terawatts=1000000000000 テラワット=1000000000000
voltage V : v=1 volts=1 volt=1 ボルト=1 kv=1000 kilovolts=1000 キロボルト=1000
temperature °C : c=1 °c=1 ℃=1 degrees_celsius=1 degree_celsius=1 celsius=1 degrees_centigrade=1 度=1 degrees=1 degree=1
temperature °F : f=1 °f=1 ℉=1 degrees_fahrenheit=1 fahrenheit=1
area m2 : m²=1 ㎡=1 m2=1 square_metres=1 square_meters=1 square_metre=1 square_meter=1 平方メートル=1 平米=1 sq_m=1
area m2 : km²=1000000 ㎢=1000000 km2=1000000 square_kilometres=1000000 square_kilometers=1000000 sq_km=1000000
area m2 : square_kilometre=1000000 square_kilometer=1000000 平方キロメートル=1000000 平方キロ=1000000 ha=10000
area m2 : hectares=10000 hectare=10000 ヘクタール=10000 acres=4046.86 acre=4046.86 エーカー=4046.86
area m2 : square_miles=2589988 square_feet=0.092903 sq_ft=0.092903 平方マイル=2589988 坪=3.3058
volume L : l=1 litres=1 litre=1 liters=1 liter=1 リットル=1 ml=0.001 millilitres=0.001 milliliters=0.001 ミリリットル=0.001
volume L : m³=1000 ㎥=1000 m3=1000 cubic_metres=1000 cubic_meters=1000 立方メートル=1000 gallons=3.78541 gallon=3.78541
volume L : l/s=1 litres_per_second=1 liters_per_second=1 m³/s=1000 m3/s=1000 cubic_metres_per_second=1000
volume L : kl=1000 キロリットル=1000 ガロン=3.78541 barrels=158.987 barrel=158.987 バレル=158.987
speed km/h : km/h=1 kmh=1 kph=1 kilometres_per_hour=1 kilometers_per_hour=1 キロ毎時=1 mph=1.609344
speed km/h : miles_per_hour=1.609344 m/s=3.6 metres_per_second=3.6 meters_per_second=3.6 knots=1.852 ノット=1.852
data B : bytes=1 byte=1 バイト=1 kb=1000 kilobytes=1000 キロバイト=1000 mb=1000000 megabytes=1000000 メガバイト=1000000
data B : gb=1000000000 gigabytes=1000000000 ギガバイト=1000000000 tb=1000000000000 terabytes=1000000000000
data B : kib=1024 mib=1048576 gib=1073741824 tib=1099511627776
data B : テラバイト=1000000000000 pb=1000000000000000 petabytes=1000000000000000 ペタバイト=1000000000000000
frequency Hz : hz=1 hertz=1 ヘルツ=1 khz=1000 mhz=1000000 ghz=1000000000 メガヘルツ=1000000 ギガヘルツ=1000000000
pressure Pa : pa=1 hpa=100 kpa=1000 mpa=1000000 ヘクトパスカル=100
concentration ppm : ppm=1 ppb=0.001
ratio x : 倍=1 times_as=1 times_more=1 times_higher=1 times_larger=1 times_the=1 times_faster=1 -fold=1 fold=1 times_as_many=1
duration month : years=12 year=12 year-long=12 年間=12 年=12 か年=12 カ年=12 ヵ年=12 months=1 month=1 か月=1 カ月=1
duration month : ヶ月=1 ヵ月=1 ケ月=1 箇月=1 decades=120 decade=120 centuries=1200 century=1200 yr=12 yrs=12 か月間=1 ヶ月間=1 カ月間=1
duration s : 日=86400 fortnights=1209600 fortnight=1209600
duration s : weeks=604800 week=604800 週間=604800 週=604800 days=86400 day=86400 日間=86400 hours=3600 hour=3600
duration s : hrs=3600 hr=3600 時間=3600 minutes=60 minute=60 mins=60 min=60 分間=60 分=60 seconds=1 second=1 sec=1
duration s : secs=1 秒=1 秒間=1 milliseconds=0.001 ms=0.001 ミリ秒=0.001
age year : years_old=1 year-old=1 years-old=1 years_of_age=1 歳=1 才=1 歳代=1
count person : people=1 persons=1 person=1 人=1 名=1 employees=1 employee=1 workers=1 staff=1 residents=1 students=1
count person : pupils=1 passengers=1 visitors=1 users=1 members=1 customers=1 patients=1 inhabitants=1 participants=1
count person : soldiers=1 men=1 women=1 children=1 adults=1 citizens=1 deaths=1 teachers=1 doctors=1 engineers=1
count person : researchers=1 volunteers=1 voters=1 subscribers=1 tourists=1 refugees=1 respondents=1 fans=1 spectators=1
count company : companies=1 company=1 firms=1 corporations=1 businesses=1 startups=1 start-ups=1 社=1 企業=1 enterprises=1
count shop : stores=1 store=1 shops=1 outlets=1 restaurants=1 branches=1 店舗=1 店=1 支店=1
count country : countries=1 country=1 nations=1 か国=1 カ国=1 ヶ国=1 ヵ国=1 ケ国=1 箇国=1
count school : schools=1 school=1 universities=1 校=1 大学=1
count home : households=1 homes=1 houses=1 世帯=1 戸=1 dwellings=1
count station : stations=1 station=1 駅=1
count seat : seats=1 seat=1 議席=1 席=1
count vote : votes=1 vote=1 票=1
count floor : floors=1 storeys=1 stories=1 storey=1 story=1 階=1 階建て=1 階建=1
count language : languages=1 か国語=1 カ国語=1 ヶ国語=1 言語=1
count book : books=1 volumes=1 copies=1 冊=1 部=1
count ship : ships=1 vessels=1 隻=1
count vehicle : vehicles=1 cars=1 trucks=1 buses=1 台=1 units=1 machines=1 computers=1 servers=1 robots=1
count thing : 件=1 個=1 本=1 点=1 つ=1 基=1 棟=1 頭=1 匹=1 羽=1 枚=1 回=1 度目=1 問=1 例=1 便=1 両=1 機=1 箇所=1 か所=1
count thing : カ所=1 ヶ所=1 種=1 種類=1 曲=1 位=1 丁目=1 号=1 条=1 項=1 章=1 番=1 番目=1 組=1 チーム=1 都市=1 自治体=1 段階=1
count thing : 大会=1 作品=1 試合=1 得点=1 株=1 団体=1 施設=1 項目=1 品目=1 路線=1 次=1 代=1 代目=1 期=1 世紀=1 ページ=1 頁=1 文字=1 語=1
"""

SCALES = {
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "mn": 1e6, "mln": 1e6, "billion": 1e9, "bn": 1e9, "bln": 1e9,
    "trillion": 1e12, "tn": 1e12, "trn": 1e12, "lakh": 1e5, "crore": 1e7, "dozen": 12.0, "hundreds": 1e2,
    "十": 1e1, "百": 1e2, "千": 1e3, "万": 1e4, "億": 1e8, "兆": 1e12, "京": 1e16,
}  # fmt: skip
"""Multipliers of number words."""

LETTER_SCALES = {"k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "b": 1e9, "B": 1e9, "t": 1e12, "T": 1e12}
"""Multipliers of a letter right after the digits. "m" and "t" only after a currency sign, as "5 m" means metres."""

ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
"""The year before the first year of each Japanese era."""

MONTHS: tuple[str, ...] = tuple(
    """
    january february march april may june july august september october november december
    jan feb mar apr may jun jul aug sep oct nov dec
    """.split()
)
"""Names and short forms of the months, in order."""

SIGNS = ("us$", "a$", "c$", "$", "€", "£", "¥", "₩", "₹", "usd", "eur", "gbp", "jpy", "cny", "chf", "aud", "cad")
"""Currency signs that precede the number."""


@cache
def units() -> dict[str, Unit]:
    """Return all units by their notation in lower case."""
    found: dict[str, Unit] = {}
    for line in _TABLE.strip().splitlines():
        head, names = line.split(" : ")
        kind, name = head.split()
        for entry in names.split():
            written, factor = entry.rsplit("=", 1)
            found[written.replace("_", " ")] = Unit(kind, name, float(factor))
    return found
